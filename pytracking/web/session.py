"""A tracking session: a thread that tracks one video for one page, controlled by the page."""
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

Emit = Callable[[dict[str, Any] | bytes], None]  # sends a message to the page; bytes if it includes a picture


class TrackingSession:
    """Runs in its own thread, from which it sends messages to the page through ``emit``, which may block."""

    def __init__(self, run: Run, load: Callable[[str], TrackerHandle], emit: Emit, settings: WebSettings) -> None:
        self.run, self._load, self._send, self._settings = run, load, emit, settings
        self.steering = Steering(drawn=run.start.frame - 1)
        self.hold = contextlib.ExitStack()  # resources that are released when the session is closed
        self._camera = run.video.source if isinstance(run.video, CameraVideo) else None
        self._thread = threading.Thread(target=self._run, daemon=True, name=f"tracking {run.video.title}")

    def begin(self) -> None:
        self._thread.start()

    @property
    def running(self) -> bool:
        # not the thread alone: the page may start again as soon as it is told of the end
        return self._thread.is_alive() and self.run.ended is None

    def end(self) -> None:
        """Stops the thread, after the current frame, and waits for it."""
        self.steering.handle(Command(self.run.id, "stop"))
        if self._camera is not None:
            self._camera.close()
        self._thread.join(timeout=30.0)

    def take_picture(self, picture: bytes) -> None:
        """Takes a frame from the page's camera."""
        if self._camera is not None and self._camera.put(picture):
            self.steering.nudge()

    def _emit(self, kind: str, **content: Any) -> None:
        self._send({"type": kind, "run": self.run.id, **content})

    def _run(self) -> None:
        began = time.monotonic()
        try:
            with self.run.video.open() as source:
                trackers = {name: Followers(partial(self._load, name)) for name in self.run.start.trackers}
                # the page shows if a bundled network replaces the paper's
                self.run.networks = {name: followers.network for name, followers in trackers.items()}
                self.run.fps, self.run.length = source.fps, source.length
                self._emit("loaded", networks=self.run.networks)
                ended, failed = self._track(source, trackers), False
        except VideoError as error:
            ended, failed = self._readable(error), False
        except Exception as error:  # shown by the page; the server must survive it
            logging.getLogger(__name__).exception("tracking failed")
            ended, failed = f"{type(error).__name__}: {self._readable(error)}", True
        if self._camera is not None and len(self.run.log) > 1:  # the saved video plays at the speed of the recording
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
            request, corrected = self.steering.take_correction(), []
            tracked = next(iter(trackers.values())).ids  # the same for all trackers
            change = self._usable(request, index, tracked)
            if request is not None and change is None:
                continue
            if change is not None:
                corrected = [target.id for target in change.objects if target.id in tracked]
                self._go_back(change, trackers)
                index, frames = change.frame, source.frames(change.frame)
            frame = next(frames, None)
            if frame is None:
                return "stopped" if self.steering.stopped else COMPLETE
            outputs = [
                self._step(place, name, followers, frame, index)
                for place, (name, followers) in enumerate(trackers.items())
            ]
            self._record(source, index, frame, outputs, corrected)
            index += 1
        return f"stopped: at most {limits.max_frames} frames are kept"

    def _usable(self, change: Correct | None, index: int, tracked: set[int]) -> Correct | None:
        """Returns the change if its frame is in this run and 1 to MAX_OBJECTS targets remain; otherwise None.

        A camera can go back by one frame only.
        """
        if change is None or not self.run.start.frame <= change.frame <= index:
            return None
        if self._camera is not None and change.frame < index - 1:
            change = replace(change, frame=index - 1)
        remaining = tracked - set(change.removed) | {one.id for one in change.objects}
        return change if 0 < len(remaining) <= MAX_OBJECTS else None

    def _go_back(self, change: Correct, trackers: dict[str, Followers]) -> None:
        """Removes the results from the changed frame on, as these frames will be tracked again."""
        self.run.log.cut(change.frame, keep=True)
        self.run.frames.cut(change.frame)
        for followers in trackers.values():
            followers.change(change.objects, change.removed)

    def _step(self, place: int, name: str, followers: Followers, frame: np.ndarray, index: int) -> dict[str, Any]:
        """Runs one tracker on one frame."""
        objects = []
        for target, output in followers.step(frame, index).items():
            known = self.run.log.earlier(place, index, target) if output is None else public_output(target, output)
            if known is not None:
                objects.append(known)
        return {"name": name, "seconds": round(followers.seconds, 5), "objects": objects}

    def _record(
        self, source: FrameSource, index: int, frame: np.ndarray, outputs: list[dict], corrected: list[int]
    ) -> None:
        self.run.log.add(index, outputs, corrected)
        message = {
            "type": "frame", "run": self.run.id, "index": index, "of": source.length, "fps": source.fps,
            "corrected": corrected, "trackers": outputs,
        }  # fmt: skip
        packed = with_picture(message, encode_jpeg(frame) if self._camera is None else self._camera.picture)
        self.run.frames.put(index, packed, always=bool(corrected))
        self._send(packed if self._camera is None else message)  # the page already has its camera's picture


def public_output(target: int, output: dict[str, Any]) -> dict[str, Any]:
    """Converts a tracker's output for one target to the form that the page gets."""
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
    """Quantises a score map to 0..255 between its extremes, which is precise enough to draw and small to send."""
    if scores is None:
        return None
    values = np.asarray(scores.detach().cpu() if hasattr(scores, "detach") else scores, dtype=np.float64)
    values = np.nan_to_num(values.reshape(values.shape[-2:]))
    low, high = float(values.min()), float(values.max())
    levels = np.round((values - low) / max(high - low, 1e-9) * 255).astype(int)
    return {"rows": len(values), "columns": values.shape[1], "low": round(low, 4), "high": round(high, 4),
            "levels": levels.ravel().tolist()}
