"""Writes boxes, scores and times while a video is tracked, so that Ctrl-C or a crash loses nothing."""
import csv
import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pytracking.evaluation.results import boxes_file, scores_file, times_file, write_boxes, write_scores, write_times
from pytracking.utils.files import naming, write_text

COMPLETE = "end of the video"  # why a complete recording ended
COLUMNS = ("frame", "id", "x", "y", "w", "h", "score", "flag", "seconds")
FLUSH_EVERY = 50  # frames

Row = dict[str, str]


class Recorder:
    """Writes one row per frame and target to ``<name>.csv.part``, and all result files in :meth:`finish`.

    The boxes of a single target are in ``<name>.txt``, those of several targets in ``<name>_<id>.txt``. Results of
    another video with the same name are not overwritten (the new ones are called ``<name>-<digest>``), and incomplete
    results do not overwrite complete ones (``<name>_partial``).

    Args:
        about: description stored in the JSON with the rows (tracker, video, ...).
        first_frame: number of the first row's frame, counted from 1.
        mot: whether to write ``<name>_mot.txt`` too.
    """

    def __init__(
        self, folder: Path, name: str, about: dict[str, Any], first_frame: int = 1, *, mot: bool = False
    ) -> None:
        self._folder, self._about, self._first, self._mot = Path(folder), about, first_frame, mot
        self._folder.mkdir(parents=True, exist_ok=True)
        previous = self._recorded(name).get("video")
        if previous is not None and previous != about.get("video"):
            name += "-" + hashlib.sha256(str(about.get("video")).encode()).hexdigest()[:8]
        self._name = name
        self.partial = self._folder / f"{name}.csv.part"
        self._stream = open(self.partial, "w", newline="", encoding="utf-8")
        self._writer = csv.writer(self._stream)
        with naming(self.partial):
            self._writer.writerow(COLUMNS)
        self.frames = 0

    def add(self, outputs: Mapping[int, dict[str, Any]], seconds: float) -> None:
        """Adds the next frame's outputs by target id; each target gets an equal share of ``seconds``."""
        number, share = self._first + self.frames, f"{seconds / max(1, len(outputs)):.6f}"
        self.frames += 1
        with naming(self.partial):
            for target, output in outputs.items():
                score = output.get("score")
                box = [f"{float(value):.2f}" for value in output["target_bbox"]]
                score_text = "" if score is None else f"{float(score):.6g}"
                self._writer.writerow([number, target, *box, score_text, output.get("flag") or "", share])
            if self.frames % FLUSH_EVERY == 0:
                self._stream.flush()

    def finish(self, ended: str = COMPLETE) -> Path:
        """Writes the result files and JSON, completes the CSV and returns its path; ``ended`` is why the rows stop."""
        with naming(self.partial):
            self._stream.close()
        if ended != COMPLETE and self._recorded(self._name).get("ended") == COMPLETE:
            self._name += "_partial"
        with open(self.partial, newline="", encoding="utf-8") as stream:
            rows = list(csv.DictReader(stream))
        by_target: dict[int, list[Row]] = {}
        for row in rows:
            by_target.setdefault(int(row["id"]), []).append(row)
        if self._mot:
            write_text(self._folder / f"{self._name}_mot.txt", "".join(map(_mot_line, rows)))
        self._write_json(rows, ended)
        for target, own in by_target.items():
            _write_target(self._folder, self._name if list(by_target) == [1] else f"{self._name}_{target}", own)
        path = self._folder / f"{self._name}.csv"
        os.replace(self.partial, path)
        return path

    def _recorded(self, name: str) -> dict[str, Any]:
        """Reads the JSON of an earlier recording with this name; empty if there is none."""
        try:
            found = json.loads((self._folder / f"{name}.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def _write_json(self, rows: list[Row], ended: str) -> None:
        frames = [
            {
                "frame": int(row["frame"]),
                "id": int(row["id"]),
                "box": _box(row),
                "score": float(row["score"]) if row["score"] else None,
                "flag": row["flag"] or None,
                "seconds": float(row["seconds"]),
            }
            for row in rows
        ]
        content = {**self._about, "ended": ended, "frames": frames}
        write_text(self._folder / f"{self._name}.json", json.dumps(content, indent=1) + "\n")


def _box(row: Row) -> list[float]:
    return [float(row[key]) for key in ("x", "y", "w", "h")]


def _write_target(folder: Path, name: str, rows: list[Row]) -> None:
    """Writes the files of one target; the boxes last, as their existence marks the result as complete."""
    write_times(times_file(folder, name), np.array([float(row["seconds"]) for row in rows]))
    if any(row["score"] for row in rows):
        write_scores(scores_file(folder, name), np.array([float(row["score"] or "nan") for row in rows]))
    write_boxes(boxes_file(folder, name), np.array([_box(row) for row in rows]))


def _mot_line(row: Row) -> str:
    """Formats a row as frame, id, x, y, w, h, confidence and three values that only matter in 3D."""
    return ",".join([row["frame"], row["id"], *(row[key] for key in "xywh"), row["score"] or "1", "-1,-1,-1"]) + "\n"
