"""What a result was made from: the data and the settings.

Each result has its own ``origin/<sequence>.json``, because several runs, workers and machines may fill one folder, and
because a folder may hold somebody else's results, which have none.
"""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pytracking.evaluation.results import is_complete
from pytracking.evaluation.sequence import Sequence
from pytracking.utils.files import write_text


def origin_file(folder: str | Path, sequence_name: str) -> Path:
    """Where the origin of a sequence's result is."""
    return Path(folder) / "origin" / f"{sequence_name}.json"


def write_origin(folder: str | Path, sequence: Sequence, settings: str, computing: dict[str, Any]) -> None:
    """Records what a result is made from, before it is written; ``computing`` is for readers and not compared."""
    content = {"dataset": sequence.dataset, "data": sequence.identity(), "settings": settings, "computing": computing}
    write_text(origin_file(folder, sequence.name), json.dumps(content, indent=2) + "\n")


def objection(folder: str | Path, sequence: Sequence, settings: str) -> str | None:
    """How the result in a folder differs from what this run would make of the sequence; None if it does not."""
    try:
        origin = json.loads(origin_file(folder, sequence.name).read_text(encoding="utf-8"))
        before, by = origin["data"], origin["settings"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return f"{sequence.name}: nothing says which data and settings this result is of"
    now = sequence.identity()
    if before != now:
        which = "" if describe(before) != describe(now) else ", but the names of the frames between differ"
        return f"{sequence.name}: the result is of {describe(before)}; this sequence has {describe(now)}{which}"
    return None if by == settings else f"{sequence.name}: the result was made with other settings"


def is_this_runs(folder: str | Path, sequence: Sequence, settings: str) -> bool:
    """Whether a sequence has a complete result of this data and these settings."""
    complete = is_complete(folder, sequence.name, len(sequence))
    return complete and objection(folder, sequence, settings) is None


def describe(data: dict[str, Any]) -> str:
    """A sequence's identity in words."""
    try:
        width, height = data["size"]
        box = ", ".join(f"{value:g}" for value in data["first_box"])
        frames = f"{data['frames']} frames {data['first_frame']} to {data['last_frame']}"
        return f"{frames} of {width}x{height} with the first box [{box}]"
    except (KeyError, TypeError, ValueError):
        return f"data that cannot be read ({data})"
