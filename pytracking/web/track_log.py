"""What the trackers said, frame by frame, in arrays: about a hundred bytes per frame and tracker."""
from __future__ import annotations

import bisect
import math
import threading
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

FLAGS = (None, "normal", "uncertain", "hard_negative", "not_found")  # kept as their place here


@dataclass
class TrackerLog:
    """Columns of one tracker, a row per frame and object."""

    name: str
    objects: array = field(default_factory=lambda: array("I"))
    boxes: array = field(default_factory=lambda: array("f"))  # four per row
    scores: array = field(default_factory=lambda: array("f"))  # NaN: none
    flags: array = field(default_factory=lambda: array("B"))
    seconds: array = field(default_factory=lambda: array("f"))
    updated: array = field(default_factory=lambda: array("B"))
    learner: dict[str, array] = field(default_factory=dict)

    def add(self, output: dict[str, Any]) -> None:
        """One frame's output, as the page gets it."""
        for one in output["objects"]:
            rows = len(self.scores)
            self.objects.append(one["id"])
            self.boxes.extend(one["box"])
            self.scores.append(math.nan if one["score"] is None else one["score"])
            self.flags.append(FLAGS.index(one["flag"]) if one["flag"] in FLAGS else 0)
            self.seconds.append(output["seconds"])
            self.updated.append(bool(one["learner"].get("updated")))
            for key, value in one["learner"].items():
                column = self.learner.setdefault(key, array("f", [math.nan] * rows))
                column.append(math.nan if value is None else float(value))
            for column in self.learner.values():
                column.extend([math.nan] * (rows + 1 - len(column)))

    def cut(self, rows: int) -> None:
        """Keeps the first rows only."""
        del self.boxes[4 * rows :]
        for column in (self.objects, self.scores, self.flags, self.seconds, self.updated, *self.learner.values()):
            del column[rows:]

    def row(self, place: int) -> dict[str, Any]:
        """One row with names."""
        score = self.scores[place]
        return {
            "id": self.objects[place],
            "box": [round(value, 2) for value in self.boxes[4 * place : 4 * place + 4]],
            "score": None if math.isnan(score) else round(score, 4),
            "flag": FLAGS[self.flags[place]],
            "seconds": round(self.seconds[place], 5),
            "updated": bool(self.updated[place]),
        }

    def columns(self) -> dict[str, Any]:
        """Everything, for a page that opens the run later."""
        learner = {key: _rounded(column) for key, column in self.learner.items()}
        return {
            "name": self.name, "objects": list(self.objects), "boxes": _rounded(self.boxes, 2),
            "scores": _rounded(self.scores, 4), "flags": [FLAGS[place] for place in self.flags],
            "seconds": _rounded(self.seconds, 5), "updated": list(self.updated), "learner": learner,
        }  # fmt: skip


class TrackLog:
    """All trackers of a run; downloads may read it while the session writes."""

    def __init__(self, trackers: tuple[str, ...]) -> None:
        self.trackers = [TrackerLog(name) for name in trackers]
        self.frames = array("I")  # 0-based indices in the video
        self.rows = array("I")  # where each frame's rows start
        self.corrected: list[int] = []
        self.lock = threading.RLock()

    def __len__(self) -> int:
        return len(self.frames)

    def add(self, index: int, outputs: list[dict[str, Any]], corrected: bool) -> None:
        """Notes the next frame."""
        with self.lock:
            self.frames.append(index)
            self.rows.append(len(self.trackers[0].scores))
            if corrected:
                self.corrected.append(index)
            for log, output in zip(self.trackers, outputs, strict=True):
                log.add(output)

    def cut(self, index: int) -> None:
        """Forgets the frames from ``index`` on."""
        with self.lock:
            place = bisect.bisect_left(self.frames, index)
            if place < len(self.frames):
                for log in self.trackers:
                    log.cut(self.rows[place])
                del self.frames[place:], self.rows[place:]
            self.corrected = [frame for frame in self.corrected if frame < index]

    def __iter__(self) -> Iterator[tuple[int, str, dict[str, Any]]]:
        """Frame (0-based), tracker and row, in this order; the session waits meanwhile."""
        with self.lock:
            for place, frame in enumerate(self.frames):
                last = self.rows[place + 1] if place + 1 < len(self.rows) else len(self.trackers[0].scores)
                for log in self.trackers:
                    for row in range(self.rows[place], last):
                        yield frame, log.name, log.row(row)


def _rounded(values: array, digits: int = 6) -> list[float | None]:
    return [float(f"{value:.{digits}g}") if digits == 6 else round(value, digits) for value in values]
