"""The loop over a video: track, note, draw, show."""
from __future__ import annotations

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

SPEED_WINDOW = 30  # frames over which the shown speed is averaged


@dataclass(frozen=True)
class TrackedFrame:
    """One frame and what the trackers said about it."""

    index: int  # 0 is the frame with the given boxes
    frame: np.ndarray
    outputs: dict[int, dict[str, Any]]  # by target
    seconds: float  # inside the trackers
    fps: float  # over the last frames


@dataclass(frozen=True)
class Changes:
    """Targets that start in a frame, with their boxes, and those that are no longer followed from it on."""

    added: dict[int, list[float]] = field(default_factory=dict)
    removed: list[int] = field(default_factory=list)


def track_video(
    handle: TrackerHandle,
    source: FrameSource,
    choose_boxes: Callable[[np.ndarray], Mapping[int, Iterable[float]]],
    start: int = 0,
    changes: Mapping[int, Changes] = MappingProxyType({}),
) -> Iterator[TrackedFrame]:
    """Yields frame after frame; memory does not grow with the video.

    A VideoError or ImageReadError comes at the frame that cannot be read; everything before has been yielded.

    Args:
        choose_boxes: gets the first frame, returns x, y, w, h of each target by id.
        changes: what changes in later frames, by their 0-based numbers in the video.
    """
    recent: deque[float] = deque(maxlen=SPEED_WINDOW)
    targets = handle.several()
    frames = source.frames(start)
    if source.length is not None:  # a camera's next frame is not there yet
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
