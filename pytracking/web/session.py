"""One video being tracked for one page: a thread that reads, tracks and hands over, and that the page steers."""
from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from pytracking.evaluation.handle import TrackerHandle
from pytracking.utils.image_io import encode_jpeg
from pytracking.video.recorder import COMPLETE
from pytracking.video.sources import FrameSource, VideoError
from pytracking.web.camera import CameraVideo
from pytracking.web.followers import Followers
from pytracking.web.messages import MAX_OBJECTS, Command, Correct, with_picture
from pytracking.web.runs import Run
from pytracking.web.security import without_paths
from pytracking.web.settings import WebSettings
from pytracking.web.steering import Steering

Emit = Callable[[dict[str, Any] | bytes], None]  # a message to the page; bytes where it comes with a picture


class TrackingSession:
    """Runs in its own thread; ``emit``, which is called from it and may block, gets everything for the page."""

    def __init__(self, run: Run, load: Callable[[str], TrackerHandle], emit: Emit, settings: WebSettings) -> None:
        self.run, self._load, self._send, self._settings = run, load, emit, settings
        self.steering = Steering(drawn=run.start.frame - 1)
        self.hold = contextlib.ExitStack()  # what is given back when the session is closed
        self._camera = run.video.source if isinstance(run.video, CameraVideo) else None
        self._thread = threading.Thread(target=self._run, daemon=True, name=f"tracking {run.video.title}")

    def begin(self) -> None:
        self._thread.start()

    @property
    def running(self) -> bool:
        return self._thread.is_alive() and self.run.ended is None  # the page may start again as soon as it is told

    def end(self) -> None:
        """Stops the thread; returns when it has ended, at most after one frame."""
        self.steering.hear(Command(self.run.id, "stop"))
        if self._camera is not None:
            self._camera.close()
        self._thread.join(timeout=30.0)

    def take_picture(self, picture: bytes) -> None:
        """A frame of the page's camera."""
        if self._camera is not None and self._camera.put(picture):
            self.steering.nudge()

    def _emit(self, kind: str, **content: Any) -> None:
        self._send({"type": kind, "run": self.run.id, **content})

    def _run(self) -> None:
        began = time.monotonic()
        try:
            with self.run.video.open() as source:
                trackers = {name: Followers(partial(self._load, name)) for name in self.run.start.trackers}
                # a bundled network in place of the paper's must not go unnoticed
                self.run.networks = {name: followers.network for name, followers in trackers.items()}
                self.run.fps, self.run.length = source.fps, source.length
                self._emit("loaded", networks=self.run.networks)
                ended, failed = self._track(source, trackers), False
        except VideoError as error:
            ended, failed = self._readable(error), False
        except Exception as error:  # the page shows it, and the server lives on
            logging.getLogger(__name__).exception("tracking failed")
            ended, failed = f"{type(error).__name__}: {self._readable(error)}", True
        if self._camera is not None and len(self.run.log) > 1:  # for the video: as fast as it went
            self.run.fps = min(60.0, max(1.0, (len(self.run.log) - 1) / (time.monotonic() - began)))
        self.run.ended = ended
        if failed:
            self._emit("error", message=ended, frames=len(self.run.log))
        else:
            self._emit("end", reason=ended, complete=ended == COMPLETE, frames=len(self.run.log))

    def _readable(self, error: Exception) -> str:
        return without_paths(str(error), {self.run.video.path: self.run.video.title})

    def _track(self, source: FrameSource, trackers: dict[str, Followers]) -> str:
        start, limits = self.run.start, self._settings
        ready = (lambda: True) if self._camera is None else self._camera.has_picture
        for followers in trackers.values():
            followers.change(start.objects)
        index, frames = start.frame, source.frames(start.frame)
        while index < start.frame + limits.max_frames:
            if not self.steering.wait_for_turn(index, limits.frames_in_flight, limits.idle_seconds, ready):
                return "stopped"
            asked, corrected = self.steering.take_correction(), []
            followed = next(iter(trackers.values())).ids  # the same of all trackers
            change = self._usable(asked, index, followed)
            if asked is not None and change is None:
                continue
            if change is not None:
                corrected = [target.id for target in change.objects if target.id in followed]
                self._go_back(change, trackers)
                index, frames = change.frame, source.frames(change.frame)
            frame = next(frames, None)
            if frame is None:
                return "stopped" if self.steering.stopped else COMPLETE
            outputs = [self._step(place, frame, index, *one) for place, one in enumerate(trackers.items())]
            self._note(source, index, frame, outputs, corrected)
            index += 1
        return f"stopped: no more than {limits.max_frames} frames are kept"

    def _usable(self, change: Correct | None, index: int, followed: set[int]) -> Correct | None:
        """A change that leaves something to follow, of a frame that this run has; a camera has only its last one."""
        if change is None or not self.run.start.frame <= change.frame <= index:
            return None
        if self._camera is not None and change.frame < index - 1:
            change = replace(change, frame=index - 1)
        left = followed - set(change.removed) | {one.id for one in change.objects}
        return change if 0 < len(left) <= MAX_OBJECTS else None

    def _go_back(self, change: Correct, trackers: dict[str, Followers]) -> None:
        """The frames from there on will be tracked again."""
        self.run.log.cut(change.frame, keep=True)
        self.run.frames.cut(change.frame)
        for followers in trackers.values():
            followers.change(change.objects, change.removed)

    def _step(self, place: int, frame: np.ndarray, index: int, name: str, followers: Followers) -> dict[str, Any]:
        """One tracker on one frame."""
        objects = []
        for target, output in followers.step(frame, index).items():
            said = self.run.log.earlier(place, index, target) if output is None else public_output(target, output)
            objects += [] if said is None else [said]
        return {"name": name, "seconds": round(followers.seconds, 5), "objects": objects}

    def _note(
        self, source: FrameSource, index: int, frame: np.ndarray, outputs: list[dict], corrected: list[int]
    ) -> None:
        self.run.log.add(index, outputs, corrected)
        message = {
            "type": "frame", "run": self.run.id, "index": index, "of": source.length, "fps": source.fps,
            "corrected": corrected, "trackers": outputs,
        }  # fmt: skip
        packed = with_picture(message, encode_jpeg(frame) if self._camera is None else self._camera.picture)
        self.run.frames.put(index, packed, always=bool(corrected))
        self._send(packed if self._camera is None else message)  # the page has its camera's picture


def public_output(target: int, output: dict[str, Any]) -> dict[str, Any]:
    """What a tracker says of one target, as the page gets it."""
    learner = {key: value for key, value in (output.get("learner") or {}).items() if isinstance(value, (int, float))}
    score = output.get("score")
    return {
        "id": target,
        "box": [round(float(value), 2) for value in output["target_bbox"]],
        "score": None if score is None else round(float(score), 4),
        "flag": output.get("flag"),
        "learner": learner,
        "score_map": _score_map(output.get("score_map")),
    }


def _score_map(scores: Any) -> dict[str, Any] | None:
    """The map as bytes 0 to 255 between its extremes, with them: enough to be drawn, small to be sent."""
    if scores is None:
        return None
    values = np.asarray(scores.detach().cpu() if hasattr(scores, "detach") else scores, dtype=np.float64)
    values = np.nan_to_num(values.reshape(values.shape[-2:]))
    low, high = float(values.min()), float(values.max())
    levels = np.round((values - low) / max(high - low, 1e-9) * 255).astype(int)
    return {"rows": len(values), "columns": values.shape[1], "low": round(low, 4), "high": round(high, 4),
            "levels": levels.ravel().tolist()}
