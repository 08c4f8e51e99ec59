"""Runs to view again and download: boxes as CSV, JSON and MOT, and the video with the boxes drawn in."""
import csv
import io
import json
import re
import secrets
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from pytracking.utils.files import finite
from pytracking.utils.video_writer import VideoWriter
from pytracking.video.limited_source import PictureDecoder
from pytracking.video.overlay import draw_boxes
from pytracking.web.frames import FrameArchive
from pytracking.web.library import Video
from pytracking.web.messages import CAMERA, Start
from pytracking.web.settings import WebSettings
from pytracking.web.track_log import TrackLog

COLUMNS = ("frame", "tracker", "id", "x", "y", "w", "h", "score", "flag", "seconds", "corrected")


class Run:
    """The results of one run; the session writes them, downloads read them."""

    def __init__(self, video: Video, start: Start, folder: Path, quota: int) -> None:
        self.id = secrets.token_urlsafe(9)
        self.video, self.start = video, start
        self.log = TrackLog(start.trackers)
        self.frames = FrameArchive(folder / f"{self.id}.frames", quota)
        self.networks: dict[str, str | None] = {}
        self.fps, self.length = 30.0, None
        self.ended: str | None = None  # None while it runs

    def file_stem(self, *trackers: str) -> str:
        """Builds a file name from the video and the trackers (default: all)."""
        video = Path(self.video.title.removeprefix("demo: ")).stem
        names = "_vs_".join(name.replace("/", "-") for name in trackers or self.start.trackers)
        return re.sub(r"[^A-Za-z0-9._-]+", "_", f"{video}_{names}")

    def about(self) -> dict[str, Any]:
        """Describes the run: video, objects, trackers, and why it ended."""
        return {
            "video": self.video.title, "start_frame": self.start.frame + 1, "fps": self.fps,
            "objects": [{"id": one.id, "box": list(one.box)} for one in self.start.objects],
            "trackers": list(self.start.trackers), "networks": self.networks,
            "corrected": [{"frame": frame + 1, "id": one} for frame, one in self.log.corrected], "ended": self.ended,
        }  # fmt: skip

    def summary(self) -> dict[str, Any]:
        """Returns everything a page needs to show the run again, except the pictures."""
        with self.log.lock:
            return finite(self._columns())

    def _columns(self) -> dict[str, Any]:
        return {
            "id": self.id, "video": self.video.id, "title": self.video.title, "start": self.start.frame,
            "objects": [{"id": one.id, "box": list(one.box)} for one in self.start.objects],
            "networks": self.networks, "fps": self.fps, "length": self.length, "ended": self.ended,
            "frames": list(self.log.frames), "rows": list(self.log.rows), "corrected": self.log.corrected,
            "stride": self.frames.stride,
            "trackers": [log.columns() for log in self.log.trackers],
        }  # fmt: skip

    def csv(self) -> str:
        """Formats the boxes as CSV, one row per frame, tracker and object."""
        stream, corrected = io.StringIO(), set(self.log.corrected)
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(COLUMNS)
        for frame, tracker, row in self.log:
            score = "" if row["score"] is None else row["score"]
            mark = int((frame, row["id"]) in corrected)
            head = [frame + 1, tracker, row["id"], *row["box"]]
            writer.writerow([*head, score, row["flag"] or "", row["seconds"], mark])
        return stream.getvalue()

    def json(self) -> str:
        """Formats the description and the boxes as JSON."""
        rows = [{"frame": frame + 1, "tracker": tracker, **row} for frame, tracker, row in self.log]
        return json.dumps(finite({**self.about(), "rows": rows}), indent=1, allow_nan=False) + "\n"

    def mot(self, tracker: str) -> str:
        """Formats one tracker's boxes as in the MOT Challenge: frame, id, x, y, w, h, confidence, -1, -1, -1."""
        lines = []
        for frame, name, row in self.log:
            if name == tracker:
                score = 1 if row["score"] is None else row["score"]
                numbers = [frame + 1, row["id"], *row["box"], score, -1, -1, -1]
                lines.append(",".join(str(number) for number in numbers) + "\n")
        return "".join(lines)

    def write_video(self, path: Path) -> None:
        """Writes the video with every tracker's boxes drawn in."""
        boxes: dict[int, list[tuple[str, dict[str, Any]]]] = {}
        for frame, tracker, row in self.log:
            boxes.setdefault(frame, []).append((tracker, row))
        with VideoWriter(path, self.fps / (self.frames.stride if self.video.id == CAMERA else 1)) as writer:
            for index, frame in self._pictures():
                if index in boxes:
                    writer.write(draw_boxes(frame, boxes[index]))

    def _pictures(self) -> Iterator[tuple[int, np.ndarray]]:
        if self.video.id == CAMERA:  # a camera cannot be read again; use the frames that were kept
            with PictureDecoder(self.video.limits) as decoder:
                for index in self.log.frames:
                    found, data = self.frames.get(index)
                    if found == index:
                        yield index, decoder.decode(data[4 + int.from_bytes(data[:4], "big") :])
            return
        with self.video.open() as source:
            wanted = range(self.start.frame, self.start.frame + len(self.log))
            yield from zip(wanted, source.frames(self.start.frame), strict=False)


class RunStore:
    """The most recent runs, by unguessable ids, within the disk quota."""

    def __init__(self, settings: WebSettings) -> None:
        self._settings = settings
        self._runs: dict[str, Run] = {}
        self._lock = threading.Lock()

    def new(self, video: Video, start: Start) -> Run:
        """Adds a run that is about to start, and removes old ones to make room."""
        with self._lock:
            reserved = [run.frames.quota for run in self._runs.values() if run.ended is None]
            quota = self._settings.run_bytes(reserved)
            self._make_room(self._settings.frame_bytes - sum(reserved) - quota)
            quota = max(2**20, min(quota, shutil.disk_usage(self._settings.uploads).free // 2))
            run = Run(video, start, self._settings.uploads, quota)
            self._runs[run.id] = run
        return run

    def get(self, run_id: str) -> Run:
        """Returns a run by id; KeyError if it does not exist (any more)."""
        with self._lock:
            return self._runs[run_id]

    def close(self) -> None:
        """Deletes the frames of all runs."""
        with self._lock:
            while self._runs:
                self._runs.popitem()[1].frames.remove()

    def _make_room(self, allowed: int) -> None:
        """Removes the oldest finished runs until the others take at most ``allowed`` bytes."""
        finished = [run for run in self._runs.values() if run.ended is not None]
        kept = sum(run.frames.size for run in finished)
        for run in finished:
            if kept <= allowed and len(self._runs) < self._settings.max_results:
                return
            kept -= run.frames.size
            self._runs.pop(run.id).frames.remove()
