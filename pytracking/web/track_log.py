"""Stores the trackers' outputs per frame in arrays: about a hundred bytes per frame and tracker."""
from __future__ import annotations

import bisect
import math
import threading
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

FLAGS = (None, "normal", "uncertain", "hard_negative", "not_found")  # stored as their index


@dataclass
class TrackerLog:
    """The outputs of one tracker in columns, with one row per frame and object."""

    name: str
    objects: array = field(default_factory=lambda: array("I"))
    boxes: array = field(default_factory=lambda: array("f"))  # four per row
    scores: array = field(default_factory=lambda: array("f"))  # NaN: no score
    flags: array = field(default_factory=lambda: array("B"))
    seconds: array = field(default_factory=lambda: array("f"))
    updated: array = field(default_factory=lambda: array("B"))
    learner: dict[str, array] = field(default_factory=dict)

    def add(self, output: dict[str, Any]) -> None:
        """Adds one frame's output, in the form that the page gets."""
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

    def cut(self, rows: int) -> TrackerLog:
        """Keeps the first ``rows`` rows; returns the others."""
        rest = TrackerLog(self.name, boxes=self.boxes[4 * rows :])
        del self.boxes[4 * rows :]
        for name in ("objects", "scores", "flags", "seconds", "updated"):
            setattr(rest, name, getattr(self, name)[rows:])
            del getattr(self, name)[rows:]
        for key, column in self.learner.items():
            rest.learner[key] = column[rows:]
            del column[rows:]
        return rest

    def row(self, place: int) -> dict[str, Any]:
        """Returns one row as a dictionary."""
        score = self.scores[place]
        return {
            "id": self.objects[place],
            "box": [round(value, 2) for value in self.boxes[4 * place : 4 * place + 4]],
            "score": None if math.isnan(score) else round(score, 4),
            "flag": FLAGS[self.flags[place]],
            "seconds": round(self.seconds[place], 5),
            "updated": bool(self.updated[place]),
        }

    def output(self, place: int) -> dict[str, Any]:
        """Returns one row as it was added, without the score map."""
        row = self.row(place)
        learner = {key: column[place] for key, column in self.learner.items() if not math.isnan(column[place])}
        return {key: row[key] for key in ("id", "box", "score", "flag")} | {"learner": learner, "score_map": None}

    def columns(self) -> dict[str, Any]:
        """Returns all columns, for a page that opens the run later."""
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
        self.rows = array("I")  # index of each frame's first row
        self.corrected: list[tuple[int, int]] = []  # frame and object
        self.lock = threading.RLock()
        self._earlier: list[TrackLog] = []  # outputs removed by cut(), for frames that are tracked again

    def __len__(self) -> int:
        return len(self.frames)

    def add(self, index: int, outputs: list[dict[str, Any]], corrected: Iterable[int] = ()) -> None:
        """Adds the next frame; ``corrected`` are the objects that the user has corrected in it."""
        with self.lock:
            self.frames.append(index)
            self.rows.append(len(self.trackers[0].scores))
            self.corrected += [(index, one) for one in corrected]
            for log, output in zip(self.trackers, outputs, strict=True):
                log.add(output)

    def cut(self, index: int, keep: bool = False) -> None:
        """Removes the frames from ``index`` on; with ``keep`` they stay available through :meth:`earlier`."""
        with self.lock:
            place = bisect.bisect_left(self.frames, index)
            if place < len(self.frames):
                rest, start = TrackLog(()), self.rows[place]
                rest.trackers = [log.cut(start) for log in self.trackers]
                rest.frames, rest.rows = self.frames[place:], array("I", (row - start for row in self.rows[place:]))
                del self.frames[place:], self.rows[place:]
                if keep:
                    self._earlier.append(rest)
            self.corrected = [one for one in self.corrected if one[0] < index]

    def earlier(self, tracker: int, index: int, target: int) -> dict[str, Any] | None:
        """Returns a tracker's (by index) last removed output for a target in a frame; None if there is none."""
        self._earlier = [log for log in self._earlier if log.frames[-1] >= index]
        for log in reversed(self._earlier):
            for row in log.rows_of(index):
                if log.trackers[tracker].objects[row] == target:
                    return log.trackers[tracker].output(row)
        return None

    def rows_of(self, index: int) -> range:
        """Returns the rows of a frame, which are the same in every tracker's columns."""
        place = bisect.bisect_left(self.frames, index)
        if place == len(self.frames) or self.frames[place] != index:
            return range(0)
        return range(self.rows[place], self._end(place))

    def _end(self, place: int) -> int:
        return self.rows[place + 1] if place + 1 < len(self.rows) else len(self.trackers[0].scores)

    def __iter__(self) -> Iterator[tuple[int, str, dict[str, Any]]]:
        """Yields (0-based frame, tracker, row), ordered by frame and tracker; blocks the session meanwhile."""
        with self.lock:
            for place, frame in enumerate(self.frames):
                for log in self.trackers:
                    for row in range(self.rows[place], self._end(place)):
                        yield frame, log.name, log.row(row)


def _rounded(values: array, digits: int = 6) -> list[float | None]:
    return [float(f"{value:.{digits}g}") if digits == 6 else round(value, digits) for value in values]
