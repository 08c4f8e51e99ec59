"""What the page may say on the websocket; everything else is refused with a sentence."""
from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

MAX_MESSAGE = 4096  # characters
MAX_TRACKERS = 2
COMMANDS = ("pause", "resume", "step", "stop")


class MessageError(ValueError):
    """A message that cannot be used."""


@dataclass(frozen=True)
class Start:
    video: str
    box: tuple[float, float, float, float]
    trackers: tuple[str, ...]  # "tracker/parameter"


@dataclass(frozen=True)
class Correct:
    """Go on from here with this box."""

    box: tuple[float, float, float, float]


@dataclass(frozen=True)
class Drawn:
    """The page has drawn this frame: more may be sent."""

    index: int


@dataclass(frozen=True)
class Command:
    name: str


Message = Start | Correct | Drawn | Command


def parse_message(text: str) -> Message:
    """Reads a message.

    Raises:
        MessageError: saying what is wrong with it.
    """
    if len(text) > MAX_MESSAGE:
        raise MessageError(f"a message may have {MAX_MESSAGE} characters at most")
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise MessageError("a message must be JSON") from error
    if not isinstance(data, dict):
        raise MessageError("a message must be a JSON object")
    kind = data.get("type")
    if kind == "start":
        return Start(_text(data, "video"), _box(data), _trackers(data))
    if kind == "correct":
        return Correct(_box(data))
    if kind == "drawn":
        return Drawn(_index(data))
    if kind in COMMANDS:
        return Command(kind)
    raise MessageError(f"'type' must be one of start, correct, drawn, {', '.join(COMMANDS)}")


def _text(data: dict[str, Any], key: str) -> str:
    value = data.get(key)
    if not isinstance(value, str) or not 0 < len(value) <= 200:
        raise MessageError(f"'{key}' must be a short text")
    return value


def _index(data: dict[str, Any]) -> int:
    value = data.get("index")
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise MessageError("'index' must be a number of a frame")
    return value


def _box(data: dict[str, Any]) -> tuple[float, float, float, float]:
    value = data.get("box")
    numbers = isinstance(value, list) and len(value) == 4
    if not numbers or not all(isinstance(x, (int, float)) and not isinstance(x, bool) for x in value):
        raise MessageError("'box' must be four numbers: x, y, width, height")
    try:
        x, y, w, h = (float(number) for number in value)
    except OverflowError as error:
        raise MessageError("'box' has a number that is too large") from error
    if not all(math.isfinite(number) and abs(number) <= 1e6 for number in (x, y, w, h)) or w < 2 or h < 2:
        raise MessageError("'box' must be finite and at least 2 pixels wide and high")
    return x, y, w, h


def _trackers(data: dict[str, Any]) -> tuple[str, ...]:
    value = data.get("trackers")
    if not isinstance(value, list) or not 1 <= len(value) <= MAX_TRACKERS:
        raise MessageError(f"'trackers' must be a list of 1 to {MAX_TRACKERS}")
    if not all(isinstance(name, str) and len(name) <= 120 for name in value):
        raise MessageError("'trackers' must be names like rls_dimp/default")
    return tuple(value)
