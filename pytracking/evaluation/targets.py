"""Several targets in one video: a tracker for each, and one pass through the network for all.

Any tracker can be used. Those of the DiMP family stop where patches have to go through their network
(:class:`~pytracking.tracker.base.StagedTracker`); their patches go through it as one batch, and what is left of each
target's frame is spread over the cores. Boxes are those of as many trackers run one by one.
"""
from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from ltr.engine.side_by_side import side_by_side
from pytracking.evaluation.frame_loop import FrameLoop, FrameResult
from pytracking.tracker.base import BaseTracker, StagedTracker
from pytracking.utils.threads import own_torch_threads


class TargetGroup:
    """Targets by their ids, which are whole numbers from 1 on.

    Args:
        tracker: follows the first target; its :meth:`~pytracking.tracker.base.BaseTracker.another` the others.
        seed: of everything random in the trackers, the same for each of them.
    """

    def __init__(self, tracker: BaseTracker, seed: int = 0) -> None:
        self.seed = seed
        self.seconds = 0.0  # inside the trackers, for the last call
        self._members: dict[int, tuple[BaseTracker, FrameLoop]] = {}
        self._spare = [tracker]  # of removed targets: their networks stay loaded
        self._first = tracker
        self._pool = ThreadPoolExecutor(tracker.computing.get("cpu_threads", 1), thread_name_prefix="target")

    @property
    def ids(self) -> tuple[int, ...]:
        """The targets that are followed, in the order in which they were added."""
        return tuple(self._members)

    def init(self, frame: np.ndarray, boxes: Mapping[int, Iterable[float]]) -> dict[int, dict[str, Any]]:
        """Forgets all targets and starts on others.

        Args:
            frame: RGB uint8 (h, w, 3).
            boxes: x, y, w, h in pixels, by id.

        Returns:
            What each tracker says, by id: ``target_bbox`` and the rest.

        Raises:
            ValueError: if the frame is not RGB uint8, or a box not one to start on; the message names its id.
        """
        for object_id in self.ids:
            self.remove(object_id)
        outputs, seconds = {}, 0.0
        for object_id, box in boxes.items():
            outputs[object_id] = self.add(frame, object_id, box)
            seconds += self.seconds
        self.seconds = seconds
        return outputs

    def add(self, frame: np.ndarray, object_id: int, box: Iterable[float]) -> dict[str, Any]:
        """Starts on one more target, in a frame that the others were updated with; ValueError as in :meth:`init`."""
        if isinstance(object_id, bool) or not isinstance(object_id, int) or object_id < 1:
            raise ValueError(f"a target's id must be a whole number from 1 on, not {object_id!r}")
        if object_id in self._members:
            raise ValueError(f"there is a target {object_id} already: remove it first, or take another id")
        tracker = self._spare.pop() if self._spare else self._first.another()
        loop = FrameLoop(tracker)
        try:
            result = loop.start(frame, box, seed=self.seed, where=f"target {object_id}")
        except BaseException:
            self._spare.append(tracker)
            raise
        self._members[object_id] = tracker, loop
        self.seconds = result.seconds
        return result.output

    def remove(self, object_id: int) -> None:
        """Stops following a target; KeyError if there is none of this id."""
        if object_id not in self._members:
            raise KeyError(f"there is no target {object_id!r}; there are: {', '.join(map(str, self.ids)) or 'none'}")
        self._spare.append(self._members.pop(object_id)[0])

    def update(self, frame: np.ndarray) -> dict[int, dict[str, Any]]:
        """Follows all targets into the next frame; see :meth:`init` for the result, which may be empty."""
        members = [(tracker, loop, f"target {one}") for one, (tracker, loop) in self._members.items()]
        if len(members) > 1 and all(isinstance(tracker, StagedTracker) for tracker, _, _ in members):
            results = self._update_together(members, frame)
        else:
            results = [loop.next(frame, where) for _, loop, where in members]
        self.seconds = sum(result.seconds for result in results)
        return {one: result.output for one, result in zip(self._members, results, strict=True)}

    def _update_together(
        self, members: list[tuple[StagedTracker, FrameLoop, str]], frame: np.ndarray
    ) -> list[FrameResult]:
        start = time.perf_counter()
        infos = [loop.prepare(frame, where) for _, loop, where in members]
        stages = [Stages(tracker, frame, info) for (tracker, _, _), info in zip(members, infos, strict=True)]
        with own_torch_threads(members[0][0]):
            run_together(stages, self._pool)
        share = (time.perf_counter() - start) / len(members)
        return [loop.accept(one.output, share, where) for (_, loop, where), one in zip(members, stages, strict=True)]


class Stages:
    """One tracker in the middle of a frame."""

    def __init__(self, tracker: StagedTracker, image: np.ndarray, info: dict[str, Any]) -> None:
        self._tracker = tracker
        self._stages = tracker.stages(image, info)
        self.features: dict[str, Any] | None = None  # of the patches
        self.patches: Any = None  # that the tracker waits for; None at its end
        self.output: dict[str, Any] = {}

    def advance(self) -> None:
        """Goes on to the next patches, or to the end."""
        with side_by_side():
            try:
                self.patches = self._stages.send(self.features)
            except StopIteration as end:
                self.patches, self.output = None, end.value

    def extract(self, patches: Any) -> dict[str, Any]:
        return self._tracker.extract(patches)


def run_together(all_stages: list[Stages], pool: ThreadPoolExecutor) -> None:
    """Takes trackers that share a network to the end of the frame."""
    running = all_stages
    while running:
        list(pool.map(Stages.advance, running))
        running = [one for one in running if one.patches is not None]
        _extract_together(running)


def _extract_together(running: list[Stages]) -> None:
    """Gives each tracker the features it waits for; patches of one size go through the network as one batch."""
    import torch  # here because trackers without a network work without it

    by_size: dict[tuple[int, ...], list[Stages]] = {}
    for one in running:
        by_size.setdefault(tuple(one.patches.shape[1:]), []).append(one)
    for members in by_size.values():
        features = members[0].extract(torch.cat([one.patches for one in members]))
        start = 0
        for one in members:
            end = start + len(one.patches)
            one.features = {name: values[start:end] for name, values in features.items()}
            start = end
