"""The loop over a video: track, note, draw, show."""
from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from pytracking.evaluation.handle import TrackerHandle
from pytracking.utils.image_io import ImageReadError
from pytracking.utils.read_ahead import read_ahead
from pytracking.video.sources import FrameSource, VideoError

SPEED_WINDOW = 30  # frames over which the shown speed is averaged


@dataclass(frozen=True)
class TrackedFrame:
    """One frame and what the tracker said about it."""

    index: int  # 0 is the frame with the given box
    frame: np.ndarray
    output: dict[str, Any]
    seconds: float  # inside the tracker
    fps: float  # over the last frames


def track_video(
    handle: TrackerHandle, source: FrameSource, choose_box: Callable[[np.ndarray], list[float]], start: int = 0
) -> Iterator[TrackedFrame]:
    """Yields frame after frame; memory does not grow with the video.

    Args:
        handle: the tracker.
        source: the frames.
        choose_box: gets the first frame, returns x, y, w, h.
        start: the frame to start at, 0-based.

    Raises:
        VideoError, ImageReadError: at the frame that cannot be read; everything before has been yielded.
    """
    recent: deque[float] = deque(maxlen=SPEED_WINDOW)
    frames = source.frames(start)
    if source.length is not None:  # a camera's next frame is not there yet
        frames = read_ahead(frames)
    for index, frame in enumerate(frames):
        output = handle.init(frame, choose_box(frame)) if index == 0 else handle.update(frame)
        if index > 0:
            recent.append(handle.seconds)
        fps = len(recent) / max(sum(recent), 1e-9) if recent else 0.0
        yield TrackedFrame(index, frame, output, handle.seconds, fps)


READ_ERRORS = (VideoError, ImageReadError)
