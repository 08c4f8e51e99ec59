"""One video being tracked for one page: a thread that reads, tracks and hands over, and that the page steers."""
from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from pytracking.evaluation.handle import TrackerHandle
from pytracking.video.recorder import COMPLETE
from pytracking.video.sources import FrameSource, VideoError
from pytracking.web.camera import CameraVideo
from pytracking.web.messages import Command, Correct, Target, with_picture
from pytracking.web.pictures import PictureError, encode_jpeg
from pytracking.web.runs import Run
from pytracking.web.security import without_paths
from pytracking.web.settings import WebSettings
from pytracking.web.steering import Steering

Emit = Callable[[dict[str, Any] | bytes], None]  # a message to the page; bytes where it comes with a picture


class TrackingSession:
    """Runs in a thread of its own; ``emit`` gets everything that the page is to see.

    Args:
        run: what to track with what, and where it is noted.
        load: makes a tracker by its name ``tracker/parameter``.
        emit: may block; called from the session's thread.
        settings: limits.
    """

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
        return self._thread.is_alive()

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
                handles = {name: self._load(name) for name in self.run.start.trackers}
                # a bundled network in place of the paper's must not go unnoticed
                self.run.networks = {name: handle.spec.weights.name for name, handle in handles.items()}
                self.run.fps, self.run.length = source.fps, source.length
                self._emit("loaded", networks=self.run.networks)
                ended, failed = self._track(source, handles), False
        except (VideoError, PictureError) as error:
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

    def _track(self, source: FrameSource, handles: dict[str, TrackerHandle]) -> str:
        index, targets = self.run.start.frame, self.run.start.objects
        limits, ready = self._settings, (lambda: True) if self._camera is None else self._camera.has_picture
        frames = source.frames(index)
        while index < self.run.start.frame + limits.max_frames:
            if not self.steering.wait_for_turn(index, limits.frames_in_flight, limits.idle_seconds, ready):
                return "stopped"
            asked = self.steering.take_correction()
            correction = self._usable(asked, index)
            if asked is not None and correction is None:
                continue
            if correction is not None:
                index, targets = correction.frame, correction.objects
                frames = source.frames(index)
                self.run.log.cut(index)
                self.run.frames.cut(index)
            frame = next(frames, None)
            if frame is None:
                return "stopped" if self.steering.stopped else COMPLETE
            outputs = [run_tracker(name, handle, frame, targets) for name, handle in handles.items()]
            self._note(source, index, frame, outputs, correction is not None)
            index, targets = index + 1, ()
        return f"stopped: no more than {limits.max_frames} frames are kept"

    def _usable(self, correction: Correct | None, index: int) -> Correct | None:
        """A correction of a frame that this run has; a camera can only go on from its last one."""
        if correction is None or not self.run.start.frame <= correction.frame <= index:
            return None
        if self._camera is not None and correction.frame < index - 1:
            return Correct(correction.run, index - 1, correction.objects)
        return correction

    def _note(self, source: FrameSource, index: int, frame: np.ndarray, outputs: list[dict], corrected: bool) -> None:
        self.run.log.add(index, outputs, corrected)
        message = {
            "type": "frame", "run": self.run.id, "index": index, "of": source.length, "fps": source.fps,
            "corrected": corrected, "trackers": outputs,
        }  # fmt: skip
        packed = with_picture(message, encode_jpeg(frame) if self._camera is None else self._camera.picture)
        self.run.frames.put(index, packed, always=corrected)
        self._send(packed if self._camera is None else message)  # the page has its camera's picture


def run_tracker(name: str, handle: TrackerHandle, frame: np.ndarray, targets: tuple[Target, ...]) -> dict[str, Any]:
    """One tracker on one frame; ``targets`` are given where it starts (again).

    Trackers follow one object; the list is there for those that follow several.
    """
    output = handle.init(frame, targets[0].box) if targets else handle.update(frame)
    learner = {key: value for key, value in (output.get("learner") or {}).items() if isinstance(value, (int, float))}
    score = output.get("score")
    one = {
        "id": 1,
        "box": [round(float(value), 2) for value in output["target_bbox"]],
        "score": None if score is None else round(float(score), 4),
        "flag": output.get("flag"),
        "learner": learner,
        "score_map": _score_map(output.get("score_map")),
    }
    return {"name": name, "seconds": round(handle.seconds, 5), "objects": [one]}


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
