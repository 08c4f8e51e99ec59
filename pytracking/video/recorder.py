"""Boxes, scores and times of a video, on disk while it runs: what is done survives Ctrl-C and a crash."""
from __future__ import annotations

import csv
import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pytracking.evaluation.results import boxes_file, scores_file, times_file, write_boxes, write_scores, write_times
from pytracking.utils.files import write_text

COMPLETE = "end of the video"  # why a recording ended that has every frame
COLUMNS = ("frame", "x", "y", "w", "h", "score", "flag", "seconds")
FLUSH_EVERY = 50  # frames


@dataclass(frozen=True)
class Files:
    """What a finished recording leaves."""

    csv: Path
    json: Path
    boxes: Path
    times: Path
    scores: Path | None


class Recorder:
    """Writes one row per frame to ``<name>.csv.part``, and every file when it is finished.

    Results of another video of the same name are not replaced (``<name>-<digest>`` is used then), and neither are
    complete results by incomplete ones (``<name>_partial``).

    Args:
        folder: for the files; made if need be.
        name: of the files.
        about: what the JSON says beside the rows (tracker, video, ...).
        first_frame: number of the first row's frame, counted from 1.
    """

    def __init__(self, folder: Path, name: str, about: dict[str, Any], first_frame: int = 1) -> None:
        self._folder, self._about, self._first = Path(folder), about, first_frame
        self._folder.mkdir(parents=True, exist_ok=True)
        other = self._recorded(name).get("video")
        if other is not None and other != about.get("video"):
            name += "-" + hashlib.sha256(str(about.get("video")).encode()).hexdigest()[:8]
        self._name = name
        self.partial = self._folder / f"{name}.csv.part"
        self._stream = open(self.partial, "w", newline="", encoding="utf-8")
        self._writer = csv.writer(self._stream)
        self._writer.writerow(COLUMNS)
        self.frames = 0

    def add(self, output: dict[str, Any], seconds: float) -> None:
        """Notes the next frame."""
        self.frames += 1
        score = output.get("score")
        box = [f"{float(value):.2f}" for value in output["target_bbox"]]
        shown = "" if score is None else f"{float(score):.6g}"
        self._writer.writerow([self._first + self.frames - 1, *box, shown, output.get("flag") or "", f"{seconds:.6f}"])
        if self.frames % FLUSH_EVERY == 0:
            self._stream.flush()

    def finish(self, ended: str = COMPLETE) -> Files:
        """Writes result files, CSV and JSON; ``ended`` says why the rows stop."""
        self._stream.close()
        if ended != COMPLETE and self._recorded(self._name).get("ended") == COMPLETE:
            self._name += "_partial"
        with open(self.partial, newline="", encoding="utf-8") as stream:
            rows = list(csv.DictReader(stream))
        boxes = np.array([[float(row[key]) for key in ("x", "y", "w", "h")] for row in rows]).reshape(-1, 4)
        write_times(times_file(self._folder, self._name), np.array([float(row["seconds"]) for row in rows]))
        scores = None
        if any(row["score"] for row in rows):
            scores = scores_file(self._folder, self._name)
            write_scores(scores, np.array([float(row["score"] or "nan") for row in rows]))
        files = Files(
            csv=self._folder / f"{self._name}.csv",
            json=self._folder / f"{self._name}.json",
            boxes=boxes_file(self._folder, self._name),
            times=times_file(self._folder, self._name),
            scores=scores,
        )
        self._write_json(files.json, rows, ended)
        write_boxes(files.boxes, boxes)
        os.replace(self.partial, files.csv)
        return files

    def _recorded(self, name: str) -> dict[str, Any]:
        """What an earlier recording of this name says about itself."""
        try:
            found = json.loads((self._folder / f"{name}.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def _write_json(self, path: Path, rows: list[dict[str, str]], ended: str) -> None:
        frames = [
            {
                "frame": int(row["frame"]),
                "box": [float(row[key]) for key in ("x", "y", "w", "h")],
                "score": float(row["score"]) if row["score"] else None,
                "flag": row["flag"] or None,
                "seconds": float(row["seconds"]),
            }
            for row in rows
        ]
        write_text(path, json.dumps({**self._about, "ended": ended, "frames": frames}, indent=1) + "\n")
