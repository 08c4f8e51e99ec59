"""A tracker for use in your own program: call ``init`` with a frame and a box, then ``update`` for each frame."""
from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from pytracking.evaluation.frame_loop import FrameLoop
from pytracking.evaluation.targets import TargetGroup
from pytracking.evaluation.tracker import Tracker
from pytracking.utils.notices import plain_warnings
from pytracking.utils.threads import own_torch_threads


class TrackerHandle:
    """Returned by :func:`pytracking.load`; ``init`` may be called again at any time, for another target or video.

    ``options`` are ``network``, ``strict_weights`` and ``overrides`` of :class:`Tracker`.
    """

    def __init__(self, name: str, param: str, *, seed: int = 0, **options: Any) -> None:
        self.spec = Tracker(name, param, **options)
        self.seed = seed
        self.seconds = 0.0  # spent in the tracker on the last frame
        with plain_warnings():
            self._tracker = self.spec.create_tracker()
        self._loop = FrameLoop(self._tracker)

    def __repr__(self) -> str:
        return f"TrackerHandle({self.spec.name!r}, {self.spec.parameter_name!r})"

    @property
    def computing(self) -> dict[str, Any]:
        """Engine and threads, if the tracker has a choice."""
        return dict(self._tracker.computing)

    def init(self, frame: np.ndarray, box: Iterable[float]) -> dict[str, Any]:
        """Initialises the tracker on a target; returns ``target_bbox`` and the tracker's other outputs.

        Args:
            frame: RGB uint8 (h, w, 3). OpenCV's frames are BGR: convert them first.
            box: x, y, w, h in pixels.

        Raises:
            ValueError: if the frame is not RGB uint8, or the box is not finite, has no area or is outside the frame.
        """
        result = self._loop.start(frame, box, seed=self.seed, where="init")
        self.seconds = result.seconds
        return result.output

    def update(self, frame: np.ndarray) -> dict[str, Any]:
        """Finds the target in the next frame; returns ``target_bbox`` and, if available, ``score`` and ``flag``."""
        if not self._loop.started:
            raise RuntimeError("call init(frame, box) before update(frame)")
        result = self._loop.next(frame)
        self.seconds = result.seconds
        return result.output

    def frames_in_a_row(self) -> AbstractContextManager[None]:
        """A context for loops over frames in which nothing else uses torch: learning may overlap with the next frame.

        The boxes are the same without it. Within it, torch uses the number of threads that the tracker asks for.
        """
        return own_torch_threads(self._tracker)

    def several(self) -> TargetGroup:
        """Returns a group for several targets in one video; its ``init`` and ``update`` take and return boxes by id.

        The group uses this handle's tracker for its first target, so use only one of the two at a time.
        """
        return TargetGroup(self._tracker, self.seed)
