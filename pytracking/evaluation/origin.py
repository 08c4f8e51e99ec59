"""Records the data and settings that a result was made from, and compares them with a run's.

Each result has its own ``origin/<sequence>.json``, because several runs, workers and machines may fill one folder, and
because a folder may hold results from elsewhere, which have none.
"""
import json
from pathlib import Path
from typing import Any

from pytracking.evaluation.results import is_complete
from pytracking.evaluation.sequence import Sequence
from pytracking.utils.files import write_text


def origin_file(folder: str | Path, sequence_name: str) -> Path:
    """Path of the record of a result's origin."""
    return Path(folder) / "origin" / f"{sequence_name}.json"


def write_origin(folder: str | Path, sequence: Sequence, settings: str, computing: dict[str, Any]) -> None:
    """Records a result's data and settings; ``computing`` is for information only and never compared."""
    content = {"dataset": sequence.dataset, "data": sequence.identity(), "settings": settings, "computing": computing}
    write_text(origin_file(folder, sequence.name), json.dumps(content, indent=2) + "\n")


def mismatch(folder: str | Path, sequence: Sequence, settings: str) -> str | None:
    """Says how the data or settings of an existing result differ from this run's; None if they are the same."""
    try:
        origin = json.loads(origin_file(folder, sequence.name).read_text(encoding="utf-8"))
        old_data, old_settings = origin["data"], origin["settings"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return f"{sequence.name}: the data and settings of this result are not on record"
    data = sequence.identity()
    if old_data != data:
        hint = "" if describe(old_data) != describe(data) else ", but the frames in between have other names"
        return f"{sequence.name}: the result is for {describe(old_data)}; this sequence has {describe(data)}{hint}"
    return None if old_settings == settings else f"{sequence.name}: the result was made with other settings"


def has_matching_result(folder: str | Path, sequence: Sequence, settings: str) -> bool:
    """Whether a sequence has a complete result with the same data and settings."""
    complete = is_complete(folder, sequence.name, len(sequence))
    return complete and mismatch(folder, sequence, settings) is None


def describe(data: dict[str, Any]) -> str:
    """A sequence's identity in words."""
    try:
        width, height = data["size"]
        box = ", ".join(f"{value:g}" for value in data["first_box"])
        frames = f"{data['frames']} frames {data['first_frame']} to {data['last_frame']}"
        return f"{frames} of {width}x{height} with the first box [{box}]"
    except (KeyError, TypeError, ValueError):
        return f"data that cannot be read ({data})"
