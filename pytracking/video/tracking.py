"""The tracking loop over a video."""
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from pytracking.evaluation.handle import TrackerHandle
from pytracking.utils.image_io import ImageReadError
from pytracking.utils.read_ahead import read_ahead
from pytracking.video.sources import FrameSource, VideoError

SPEED_WINDOW = 30  # frames over which the displayed speed is averaged


@dataclass(frozen=True)
class TrackedFrame:
    """One frame and the trackers' outputs."""

    index: int  # 0 is the frame with the given boxes
    frame: np.ndarray
    outputs: dict[int, dict[str, Any]]  # by target
    seconds: float  # spent in the trackers
    fps: float  # over the last SPEED_WINDOW frames


@dataclass(frozen=True)
class Changes:
    """Targets added in a frame, with their boxes, and targets removed in it."""

    added: dict[int, list[float]] = field(default_factory=dict)
    removed: list[int] = field(default_factory=list)


def track_video(
    handle: TrackerHandle,
    source: FrameSource,
    choose_boxes: Callable[[np.ndarray], Mapping[int, Iterable[float]]],
    start: int = 0,
    changes: Mapping[int, Changes] = MappingProxyType({}),
) -> Iterator[TrackedFrame]:
    """Yields the tracked frames; memory does not grow with the video.

    A frame that cannot be read raises VideoError or ImageReadError, after all frames before it have been yielded.

    Args:
        choose_boxes: takes the first frame and returns x, y, w, h of each target by id.
        changes: targets added and removed in later frames, by 0-based frame number in the video.
    """
    recent: deque[float] = deque(maxlen=SPEED_WINDOW)
    targets = handle.several()
    frames = source.frames(start)
    if source.length is not None:  # not for a camera, whose next frame does not exist yet
        frames = read_ahead(frames)
    for index, frame in enumerate(frames):
        change = changes.get(start + index, Changes())
        for target in change.removed:
            targets.remove(target)
        outputs = targets.init(frame, choose_boxes(frame)) if index == 0 else targets.update(frame)
        if index > 0:
            recent.append(targets.seconds)
        seconds = targets.seconds
        for target, box in change.added.items():
            outputs[target] = targets.add(frame, target, box)
            seconds += targets.seconds
        fps = len(recent) / max(sum(recent), 1e-9) if recent else 0.0
        yield TrackedFrame(index, frame, outputs, seconds, fps)


READ_ERRORS = (VideoError, ImageReadError)
