"""A tracker in somebody's own program: ``init`` on a frame and a box, then ``update`` frame by frame."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from pytracking.evaluation.tracker import Tracker, box_of_output
from pytracking.utils.boxes import check_initial_box


class TrackerHandle:
    """What :func:`pytracking.load` gives; ``init`` may be called again at any time, for another target or video."""

    def __init__(self, name: str, param: str, *, seed: int = 0, overrides: dict[str, Any] | None = None) -> None:
        self.spec = Tracker(name, param, overrides=overrides)
        self.seed = seed
        self._tracker = self.spec.create_tracker()
        self._size: tuple[int, int] | None = None
        self._frame = 0

    def __repr__(self) -> str:
        return f"TrackerHandle({self.spec.name!r}, {self.spec.parameter_name!r})"

    def init(self, frame: np.ndarray, box: Iterable[float]) -> dict[str, Any]:
        """Starts on a target.

        Args:
            frame: RGB uint8 (h, w, 3). OpenCV's frames are BGR: convert them first.
            box: x, y, w, h in pixels.

        Returns:
            ``target_bbox`` and what else the tracker says.

        Raises:
            ValueError: if the frame is not RGB uint8, or the box is not finite, has no area or is outside the frame.
        """
        self._check_frame(frame)
        self._size, self._frame = None, 0  # if the tracker raises, update() must not go on with the old target
        box = check_initial_box(list(box), frame.shape[:2], "init")
        output = self._tracker.initialize(frame, {"init_bbox": box.tolist(), "seed": self.seed}) or {}
        self._size = frame.shape[:2]
        return {"target_bbox": box.tolist(), **output}

    def update(self, frame: np.ndarray) -> dict[str, Any]:
        """Finds the target in the next frame.

        Returns:
            ``target_bbox`` ``[x, y, w, h]`` and, where the tracker has them, ``score`` and ``flag``.
        """
        if self._size is None:
            raise RuntimeError("call init(frame, box) before update(frame)")
        self._check_frame(frame)
        if frame.shape[:2] != self._size:
            raise ValueError(
                f"this frame is {frame.shape[1]}x{frame.shape[0]}, the first was {self._size[1]}x{self._size[0]}; "
                "resize it, or call init again"
            )
        self._frame += 1
        output = self._tracker.track(frame, {"frame_index": self._frame})
        return {**output, "target_bbox": box_of_output(output, f"frame {self._frame + 1}").tolist()}

    @staticmethod
    def _check_frame(frame: np.ndarray) -> None:
        if not isinstance(frame, np.ndarray) or frame.ndim != 3 or frame.shape[2] != 3 or frame.dtype != np.uint8:
            shape = f"{frame.dtype} {frame.shape}" if isinstance(frame, np.ndarray) else type(frame).__name__
            raise ValueError(f"frame must be an RGB uint8 array (h, w, 3), not {shape}")
