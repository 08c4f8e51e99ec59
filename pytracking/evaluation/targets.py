"""Tracks several targets in one video: one tracker per target, one pass through the network for all.

Any tracker works. Those of the DiMP family pause when patches have to go through their network
(:class:`~pytracking.tracker.base.StagedTracker`); the patches of all targets form one batch, and the other work is
spread over the cores. The boxes are the same as from separate trackers.
"""
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import torch

from ltr.engine.side_by_side import side_by_side
from pytracking.evaluation.frame_loop import FrameLoop, FrameResult
from pytracking.tracker.base import BaseTracker, StagedTracker
from pytracking.utils.threads import own_torch_threads


class TargetGroup:
    """Targets by id; ids are integers from 1.

    Args:
        tracker: tracks the first target; copies from :meth:`~pytracking.tracker.base.BaseTracker.another` the others.
        seed: random seed, the same for every tracker.
    """

    def __init__(self, tracker: BaseTracker, seed: int = 0) -> None:
        self.seed = seed
        self.seconds = 0.0  # spent in the trackers during the last call
        self._members: dict[int, tuple[BaseTracker, FrameLoop]] = {}
        self._spare = [tracker]  # unused trackers, whose networks stay loaded
        self._first = tracker
        self._pool = ThreadPoolExecutor(tracker.computing.get("cpu_threads", 1), thread_name_prefix="target")

    @property
    def ids(self) -> tuple[int, ...]:
        """Ids of the current targets, in the order in which they were added."""
        return tuple(self._members)

    def init(self, frame: np.ndarray, boxes: Mapping[int, Iterable[float]]) -> dict[int, dict[str, Any]]:
        """Replaces all targets by new ones.

        Args:
            frame: RGB uint8 (h, w, 3).
            boxes: x, y, w, h in pixels, by id.

        Returns:
            Each tracker's output by id: ``target_bbox`` and possibly more.

        Raises:
            ValueError: if the frame is not RGB uint8 or a box is invalid; the message names its id.
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
        """Adds a target in the frame of the last update; ValueError as in :meth:`init`."""
        if isinstance(object_id, bool) or not isinstance(object_id, int) or object_id < 1:
            raise ValueError(f"a target's id must be an integer >= 1, not {object_id!r}")
        if object_id in self._members:
            raise ValueError(f"target {object_id} already exists: remove it first, or use another id")
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
        """Stops tracking a target; KeyError if there is none with this id."""
        if object_id not in self._members:
            raise KeyError(f"there is no target {object_id!r}; there are: {', '.join(map(str, self.ids)) or 'none'}")
        self._spare.append(self._members.pop(object_id)[0])

    def update(self, frame: np.ndarray) -> dict[int, dict[str, Any]]:
        """Tracks all targets in the next frame; returns outputs by id as :meth:`init` does, or an empty dict."""
        members = [(tracker, loop, f"target {object_id}") for object_id, (tracker, loop) in self._members.items()]
        if len(members) > 1 and all(isinstance(tracker, StagedTracker) for tracker, _, _ in members):
            results = self._update_together(members, frame)
        else:
            results = [loop.next(frame, where) for _, loop, where in members]
        self.seconds = sum(result.seconds for result in results)
        return {object_id: result.output for object_id, result in zip(self._members, results, strict=True)}

    def _update_together(
        self, members: list[tuple[StagedTracker, FrameLoop, str]], frame: np.ndarray
    ) -> list[FrameResult]:
        start = time.perf_counter()
        infos = [loop.prepare(frame, where) for _, loop, where in members]
        stages = [Stages(tracker, frame, info) for (tracker, _, _), info in zip(members, infos, strict=True)]
        with own_torch_threads(members[0][0]):
            run_together(stages, self._pool)
        share = (time.perf_counter() - start) / len(members)
        return [loop.accept(each.output, share, where) for (_, loop, where), each in zip(members, stages, strict=True)]


class Stages:
    """One tracker's work on a frame, which pauses at each pass through the network."""

    def __init__(self, tracker: StagedTracker, image: np.ndarray, info: dict[str, Any]) -> None:
        self.tracker = tracker
        self._stages = tracker.stages(image, info)
        self.features: dict[str, Any] | None = None  # of the last patches
        self.patches: Any = None  # to extract features from; None at the end of the frame
        self.output: dict[str, Any] = {}

    def advance(self) -> None:
        """Continues to the next patches, or to the end of the frame."""
        with side_by_side():
            try:
                self.patches = self._stages.send(self.features)
            except StopIteration as end:
                self.patches, self.output = None, end.value


def run_together(all_stages: list[Stages], pool: ThreadPoolExecutor) -> None:
    """Runs trackers that share a network to the end of the frame."""
    running = all_stages
    while running:
        list(pool.map(Stages.advance, running))
        running = [each for each in running if each.patches is not None]
        _extract_together(running)


def _extract_together(running: list[Stages]) -> None:
    """Computes the features of all patches; those of the same size go through the network as one batch."""
    by_size: dict[tuple[int, ...], list[Stages]] = {}
    for each in running:
        by_size.setdefault(tuple(each.patches.shape[1:]), []).append(each)
    for members in by_size.values():
        features = members[0].tracker.extract(torch.cat([each.patches for each in members]))
        start = 0
        for each in members:
            end = start + len(each.patches)
            each.features = {name: values[start:end] for name, values in features.items()}
            start = end
