"""One video being tracked for one page: a thread that reads, tracks and hands over, and that the page steers."""
from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import cv2
import numpy as np

from pytracking.evaluation.handle import TrackerHandle
from pytracking.video.sources import VideoError
from pytracking.web.library import Video
from pytracking.web.messages import Command, Correct, Drawn, Message, Start

JPEG_QUALITY = 80
POLL_SECONDS = 0.1

Emit = Callable[[dict[str, Any], bytes | None], None]  # a message to the page, with the frame's JPEG if there is one


@dataclass
class Steering:
    """What the page has asked for; shared between the page's and the tracking thread."""

    changed: threading.Condition = field(default_factory=threading.Condition)
    paused: bool = False
    steps: int = 0  # single frames asked for while paused
    stopped: bool = False
    correction: tuple[float, ...] | None = None
    drawn: int = -1  # last frame that the page has shown
    last_word: float = field(default_factory=time.monotonic)

    def hear(self, message: Message) -> None:
        """Takes a message of the page."""
        with self.changed:
            self.last_word = time.monotonic()
            if isinstance(message, Correct):
                self.correction = message.box
            elif isinstance(message, Drawn):
                self.drawn = max(self.drawn, message.index)
            elif isinstance(message, Command):
                self._command(message.name)
            self.changed.notify_all()

    def _command(self, name: str) -> None:
        if name == "stop":
            self.stopped = True
        elif name == "step":
            self.paused, self.steps = True, self.steps + 1
        else:
            self.paused = name == "pause"

    def wait_for_turn(self, index: int, in_flight: int, idle_seconds: float) -> bool:
        """Blocks until frame ``index`` may be tracked; False ends the session."""
        with self.changed:
            while True:
                if self.stopped or time.monotonic() - self.last_word > idle_seconds:
                    return False
                if index - self.drawn <= in_flight:
                    if not self.paused:
                        return True
                    if self.steps > 0:
                        self.steps -= 1
                        return True
                self.changed.wait(POLL_SECONDS)

    def take_correction(self) -> tuple[float, ...] | None:
        with self.changed:
            box, self.correction = self.correction, None
            return box


class TrackingSession:
    """Runs in a thread of its own; ``emit`` gets everything that the page is to see.

    Args:
        start: what to track with what.
        video: where.
        load: makes a tracker by its name ``tracker/parameter``.
        emit: may block; called from the session's thread.
        in_flight: frames that may wait for the page.
        idle_seconds: end after so long without a word of the page.
    """

    def __init__(
        self,
        start: Start,
        video: Video,
        load: Callable[[str], TrackerHandle],
        emit: Emit,
        *,
        in_flight: int,
        idle_seconds: float,
    ) -> None:
        self._start, self._video, self._load, self._emit = start, video, load, emit
        self._in_flight, self._idle_seconds = in_flight, idle_seconds
        self.steering = Steering()
        self.rows: list[dict[str, Any]] = []  # one a frame, for the downloads
        self._thread = threading.Thread(target=self._run, daemon=True, name=f"tracking {video.title}")

    def begin(self) -> None:
        self._thread.start()

    @property
    def running(self) -> bool:
        return self._thread.is_alive()

    def end(self) -> None:
        """Stops the thread; returns when it has ended, at most after one frame."""
        self.steering.hear(Command("stop"))
        self._thread.join(timeout=30.0)

    def _run(self) -> None:
        try:
            handles = {name: self._load(name) for name in self._start.trackers}
            # a bundled network in place of the paper's must not go unnoticed
            networks = {name: handle.spec.weights.name for name, handle in handles.items()}
            self._emit({"type": "loaded", "networks": networks}, None)
            with self._video.open() as source:
                ended = self._track(source, handles)
            self._emit({"type": "end", "reason": ended, "frames": len(self.rows)}, None)
        except VideoError as error:
            self._emit({"type": "end", "reason": str(error).replace(str(self._video.path), self._video.title),
                        "frames": len(self.rows)}, None)
        except Exception as error:  # the page shows it, and the server lives on
            detail = traceback.format_exc(limit=-3)
            self._emit({"type": "error", "message": f"{type(error).__name__}: {error}", "detail": detail}, None)

    def _track(self, source: Any, handles: dict[str, TrackerHandle]) -> str:
        for index, frame in enumerate(source):
            if not self.steering.wait_for_turn(index, self._in_flight, self._idle_seconds):
                return "stopped"
            box = self._start.box if index == 0 else self.steering.take_correction()
            outputs = [_run_tracker(name, handle, frame, box) for name, handle in handles.items()]
            self.rows.append({"frame": index + 1, "trackers": [_row(output) for output in outputs]})
            message = {
                "type": "frame", "index": index, "of": source.length, "fps": source.fps,
                "corrected": index > 0 and box is not None, "trackers": outputs,
            }
            self._emit(message, _jpeg(frame))
        return "end of the video"


def _run_tracker(
    name: str, handle: TrackerHandle, frame: np.ndarray, box: tuple[float, ...] | None
) -> dict[str, Any]:
    output = handle.update(frame) if box is None else handle.init(frame, box)
    learner = {key: value for key, value in (output.get("learner") or {}).items() if isinstance(value, (int, float))}
    score = output.get("score")
    return {
        "name": name,
        "box": [round(float(value), 2) for value in output["target_bbox"]],
        "score": None if score is None else round(float(score), 4),
        "flag": output.get("flag"),
        "seconds": round(handle.seconds, 5),
        "learner": learner,
        "score_map": _score_map(output.get("score_map")),
    }


def _row(output: dict[str, Any]) -> dict[str, Any]:
    return {key: output[key] for key in ("name", "box", "score", "flag", "seconds")}


def _score_map(scores: Any) -> dict[str, Any] | None:
    """The map as bytes 0 to 255 between its extremes, with them: enough to be drawn, small to be sent."""
    if scores is None:
        return None
    values = np.asarray(scores.detach().cpu() if hasattr(scores, "detach") else scores, dtype=np.float64)
    values = values.reshape(values.shape[-2:])
    low, high = float(values.min()), float(values.max())
    levels = np.round((values - low) / max(high - low, 1e-9) * 255).astype(int)
    return {"rows": len(values), "columns": values.shape[1], "low": round(low, 4), "high": round(high, 4),
            "levels": levels.ravel().tolist()}


def _jpeg(frame: np.ndarray) -> bytes:
    done, data = cv2.imencode(
        ".jpg", cv2.cvtColor(frame, cv2.COLOR_RGB2BGR), [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY]
    )
    if not done:
        raise OSError("a frame could not be encoded as JPEG")
    return data.tobytes()
