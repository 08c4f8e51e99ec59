"""Calls a tracker frame by frame, checks its inputs and outputs, and times it.

Evaluation, :func:`pytracking.load`, videos, the page, VOT and the experiments' probe all use it.
"""
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ltr.errors import UserError
from pytracking.evaluation.sequence import Sequence
from pytracking.tracker.base import BaseTracker
from pytracking.utils.boxes import check_initial_box


class FrameError(UserError):
    """An image that cannot be given to a tracker."""


class TrackerOutputError(UserError):
    """A tracker did not return a valid box."""


@dataclass(frozen=True)
class FrameResult:
    """A tracker's output for one frame."""

    output: dict[str, Any]  # as the tracker returned it, with ``target_bbox`` as four floats
    seconds: float  # spent in the tracker; its own ``time`` if it reports one

    @property
    def box(self) -> list[float]:
        """x, y, w, h."""
        return self.output["target_bbox"]

    @property
    def score(self) -> float | None:
        """The tracker's own score, or None."""
        score = self.output.get("score", self.output.get("object_presence_score"))  # the latter is pytracking's name
        return None if score is None else float(score)


class FrameLoop:
    """Runs a tracker on one target after another; its network stays loaded.

    The tracker gets ``init_bbox``, ``seed``, ``sequence_name`` if known and ``ground_truth`` if it needs it for the
    first frame, and ``frame_index`` (from 1) and ``previous_output`` for every later one.
    """

    def __init__(self, tracker: BaseTracker) -> None:
        self._tracker = tracker
        self._previous: dict[str, Any] | None = None
        self._size: tuple[int, ...] = ()
        self._index = 0

    @property
    def started(self) -> bool:
        """Whether there is a target to track."""
        return self._previous is not None

    def start(
        self,
        image: np.ndarray,
        box: Iterable[float],
        *,
        seed: int = 0,
        sequence_name: str | None = None,
        ground_truth: np.ndarray | None = None,
        where: str = "the first frame",
    ) -> FrameResult:
        """Initialises the tracker; errors (FrameError, BoxError, TrackerOutputError) begin with ``where``."""
        self._previous, self._index = None, 0  # if the tracker raises, the old target must not be tracked further
        _check_image(image, where)
        box = check_initial_box(list(box), image.shape[:2], where).tolist()
        info = {"init_bbox": list(box), "seed": seed}
        if sequence_name is not None:
            info["sequence_name"] = sequence_name
        if self._tracker.needs_ground_truth:
            if ground_truth is None:
                raise UserError(f"{where}: {type(self._tracker).__name__} needs the annotation, but there is none")
            info["ground_truth"] = ground_truth
        start = time.perf_counter()
        output = {"target_bbox": box, **(self._tracker.initialize(image, info) or {})}
        result = _result(output, time.perf_counter() - start, where)
        self._previous, self._size = result.output, image.shape
        return result

    def start_sequence(self, sequence: Sequence, seed: int = 0) -> FrameResult:
        """Calls :meth:`start` on the first frame of an annotated sequence."""
        truth = sequence.ground_truth_rect
        return self.start(
            sequence.load_frame(0),
            truth[0],
            seed=seed,
            sequence_name=sequence.name,
            ground_truth=truth,
            where=sequence.label,
        )

    def next(self, image: np.ndarray, where: str | None = None) -> FrameResult:
        """Tracks the target in the next frame; errors (FrameError, TrackerOutputError) begin with ``where``."""
        info = self.prepare(image, where)
        start = time.perf_counter()
        output = self._tracker.track(image, info)
        return self.accept(output, time.perf_counter() - start, where)

    def prepare(self, image: np.ndarray, where: str | None = None) -> dict[str, Any]:
        """First half of :meth:`next`, for callers that run the tracker themselves: the tracker's ``info``."""
        if self._previous is None:
            raise RuntimeError("the tracker has no target: call start() first")
        self._index += 1
        where = self._where(where)
        _check_image(image, where)
        if image.shape != self._size:
            raise FrameError(
                f"{where} is {image.shape[1]}x{image.shape[0]}, but the first frame is {self._size[1]}x{self._size[0]};"
                " all frames must have the same size (resize the frame, or start again)"
            )
        return {"frame_index": self._index, "previous_output": self._previous}

    def accept(self, output: dict[str, Any], seconds: float, where: str | None = None) -> FrameResult:
        """Second half of :meth:`next`: checks what the tracker returned after ``seconds``."""
        result = _result(output, seconds, self._where(where))
        self._previous = result.output
        return result

    def _where(self, where: str | None) -> str:
        return where or f"frame {self._index + 1}"


def _result(output: dict[str, Any], seconds: float, where: str) -> FrameResult:
    box = box_of_output(output, where).tolist()
    return FrameResult({**output, "target_bbox": box}, float(output.get("time", seconds)))


def box_of_output(output: dict[str, Any], where: str) -> np.ndarray:
    """Returns the box (4,) of a tracker's output; TrackerOutputError, beginning with ``where``, if it is invalid."""
    try:
        box = np.asarray(output["target_bbox"], dtype=np.float64)
    except (KeyError, TypeError, ValueError) as error:
        raise TrackerOutputError(f"{where}: the tracker returned no 'target_bbox' of four numbers: {output}") from error
    if box.shape != (4,) or not np.isfinite(box).all():
        raise TrackerOutputError(f"{where}: the tracker returned the box {box.tolist()}, not four finite numbers")
    if (box[2:] < 0).any():
        raise TrackerOutputError(f"{where}: the tracker returned the box {box.tolist()} with negative size")
    return box


def _check_image(image: np.ndarray, where: str) -> None:
    if not isinstance(image, np.ndarray) or image.ndim != 3 or image.shape[2] != 3 or image.dtype != np.uint8:
        shape = f"{image.dtype} {image.shape}" if isinstance(image, np.ndarray) else type(image).__name__
        raise FrameError(f"{where}: a frame must be an RGB uint8 array (h, w, 3), not {shape}")
