"""The messages that the page may send on the websocket; all others are refused with an explanation."""
import json
import math
from dataclasses import dataclass
from typing import Any

from pytracking.utils.files import finite

MAX_MESSAGE = 4096  # characters
MAX_TRACKERS = 2
MAX_OBJECTS = 8  # tracked at the same time
MAX_ID = 999  # of an object
COMMANDS = ("pause", "resume", "step", "stop")
CAMERA = "camera"  # used as a video's id: frames come from the page

Box = tuple[float, float, float, float]


class MessageError(ValueError):
    """An invalid message."""


@dataclass(frozen=True)
class Target:
    """An object to track."""

    id: int
    box: Box


@dataclass(frozen=True)
class Start:
    """Start tracking a video at a frame."""

    video: str
    frame: int  # 0-based
    objects: tuple[Target, ...]
    trackers: tuple[str, ...]  # "tracker/parameter"


@dataclass(frozen=True)
class Correct:
    """Go back to a frame, start ``objects`` (known or new) from their boxes there, and drop those in ``removed``."""

    run: str
    frame: int
    objects: tuple[Target, ...]
    removed: tuple[int, ...] = ()


@dataclass(frozen=True)
class Drawn:
    """The page has drawn this frame, so more may be sent."""

    run: str
    index: int


@dataclass(frozen=True)
class Command:
    """Pause, resume, step or stop a run."""

    run: str
    name: str


Message = Start | Correct | Drawn | Command


def parse_message(text: str) -> Message:
    """Parses a message; a MessageError says what is wrong with it."""
    data = parse_object(text)
    kind = data.get("type")
    if kind == "start":
        return Start(_text(data, "video"), _index(data, "frame"), targets(data), _trackers(data))
    if kind == "correct":
        removed = _removed(data)
        objects = () if removed and not data.get("objects") else targets(data)
        return Correct(_text(data, "run"), _index(data, "frame"), objects, removed)
    if kind == "drawn":
        return Drawn(_text(data, "run"), _index(data, "index"))
    if kind in COMMANDS:
        return Command(_text(data, "run"), kind)
    raise MessageError(f"'type' must be one of start, correct, drawn, {', '.join(COMMANDS)}")


def parse_object(text: str) -> dict[str, Any]:
    """Parses a JSON object of limited size."""
    if len(text) > MAX_MESSAGE:
        raise MessageError(f"a message may have at most {MAX_MESSAGE} characters")
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise MessageError("a message must be JSON") from error
    if not isinstance(data, dict):
        raise MessageError("a message must be a JSON object")
    return data


def targets(data: dict[str, Any]) -> tuple[Target, ...]:
    """Parses the list ``objects`` of a message."""
    value = data.get("objects")
    if not isinstance(value, list) or not 1 <= len(value) <= MAX_OBJECTS:
        raise MessageError(f"'objects' must be a list of 1 to {MAX_OBJECTS}, each with 'id' and 'box'")
    if not all(isinstance(one, dict) for one in value):
        raise MessageError("'objects' must contain JSON objects with 'id' and 'box'")
    found = tuple(Target(_index(one, "id"), _box(one)) for one in value)
    if len({target.id for target in found}) < len(found) or any(not 1 <= one.id <= MAX_ID for one in found):
        raise MessageError(f"the ids of objects must be distinct numbers from 1 to {MAX_ID}")
    return found


def to_json(message: Any) -> str:
    """Encodes a message for the page."""
    return json.dumps(finite(message), allow_nan=False, separators=(",", ":"))


def with_picture(message: dict[str, Any], picture: bytes) -> bytes:
    """Packs a message and the JPEG of its frame: the message's length (4 bytes), the message, the picture."""
    head = to_json(message).encode()
    return len(head).to_bytes(4, "big") + head + picture


def _removed(data: dict[str, Any]) -> tuple[int, ...]:
    value = data.get("removed", [])
    if not isinstance(value, list) or len(value) > MAX_OBJECTS:
        raise MessageError(f"'removed' must be a list of at most {MAX_OBJECTS} ids")
    return tuple(_index({"removed": one}, "removed") for one in value)


def _text(data: dict[str, Any], key: str) -> str:
    value = data.get(key)
    if not isinstance(value, str) or not 0 < len(value) <= 200:
        raise MessageError(f"'{key}' must be a non-empty string of at most 200 characters")
    return value


def _index(data: dict[str, Any], key: str) -> int:
    value = data.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**31:
        raise MessageError(f"'{key}' must be a whole number, 0 or more")
    return value


def _box(data: dict[str, Any]) -> Box:
    value = data.get("box")
    numbers = isinstance(value, list) and len(value) == 4
    if not numbers or not all(isinstance(x, (int, float)) and not isinstance(x, bool) for x in value):
        raise MessageError("'box' must be four numbers: x, y, width, height")
    try:
        x, y, w, h = (float(number) for number in value)
    except OverflowError as error:
        raise MessageError("'box' contains a number that is too large") from error
    if not all(math.isfinite(number) and abs(number) <= 1e6 for number in (x, y, w, h)) or w < 2 or h < 2:
        raise MessageError("'box' must be finite and at least 2 pixels wide and high")
    return x, y, w, h


def _trackers(data: dict[str, Any]) -> tuple[str, ...]:
    value = data.get("trackers")
    if not isinstance(value, list) or not 1 <= len(value) <= MAX_TRACKERS:
        raise MessageError(f"'trackers' must be a list of 1 to {MAX_TRACKERS}")
    if not all(isinstance(name, str) and len(name) <= 120 for name in value) or len(set(value)) != len(value):
        raise MessageError("'trackers' must be distinct names like rls_dimp/default")
    return tuple(value)
