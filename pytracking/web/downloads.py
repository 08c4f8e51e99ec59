"""Finished runs that the page can download: boxes as CSV, the video with the boxes drawn."""
from __future__ import annotations

import csv
import io
import secrets
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytracking.video.overlay import VideoWriter, draw_output
from pytracking.web.library import Video


@dataclass
class FinishedRun:
    """What a session has said, frame by frame."""

    id: str
    video: Video
    rows: list[dict[str, Any]]

    def csv(self) -> str:
        """One row a frame and tracker."""
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["frame", "tracker", "x", "y", "w", "h", "score", "flag", "seconds"])
        for row in self.rows:
            for output in row["trackers"]:
                score = "" if output["score"] is None else output["score"]
                writer.writerow(
                    [row["frame"], output["name"], *output["box"], score, output["flag"] or "", output["seconds"]]
                )
        return stream.getvalue()

    def write_video(self, path: Path) -> None:
        """Reads the source again and draws every tracker's box."""
        with self.video.open() as source, VideoWriter(path, source.fps) as writer:
            for frame, row in zip(source, self.rows, strict=False):
                picture = frame
                for output in row["trackers"]:
                    picture = draw_output(picture, {**output, "target_bbox": output["box"]}, output["name"])
                writer.write(picture)


class RunStore:
    """The last runs, by ids that cannot be guessed."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._runs: dict[str, FinishedRun] = {}
        self._lock = threading.Lock()

    def new(self, video: Video, rows: list[dict[str, Any]]) -> FinishedRun:
        """A run that is about to start; ``rows`` grows while it lasts."""
        run = FinishedRun(secrets.token_urlsafe(9), video, rows)
        with self._lock:
            self._runs[run.id] = run
            while len(self._runs) > self._most:
                self._runs.pop(next(iter(self._runs)))
        return run

    def get(self, run_id: str) -> FinishedRun:
        """A run by its id.

        Raises:
            KeyError: if there is none (any more).
        """
        with self._lock:
            return self._runs[run_id]
