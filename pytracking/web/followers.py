"""One tracker's targets in a run: who is followed, from which frame on, and who has to wait for the others."""
from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pytracking.evaluation.handle import TrackerHandle
from pytracking.evaluation.targets import TargetGroup
from pytracking.web.messages import Target


@dataclass
class Cohort:
    """Targets that were started together; those of the DiMP family share their passes through the network."""

    handle: TrackerHandle
    next_frame: int  # that its trackers have not seen
    ids: tuple[int, ...]
    group: TargetGroup | None = None  # None for a single target

    def start(self, frame: np.ndarray, targets: tuple[Target, ...]) -> dict[int, dict[str, Any]]:
        if len(targets) == 1:
            return {targets[0].id: self.handle.init(frame, targets[0].box)}
        self.group = self.handle.several()
        return self.group.init(frame, {target.id: target.box for target in targets})

    def update(self, frame: np.ndarray) -> dict[int, dict[str, Any]]:
        if self.group is None:
            return {self.ids[0]: self.handle.update(frame)}
        return self.group.update(frame)

    @property
    def seconds(self) -> float:
        return self.handle.seconds if self.group is None else self.group.seconds

    def leave(self, ids: Iterable[int]) -> None:
        """Stops following these."""
        gone = set(self.ids) & set(ids)
        self.ids = tuple(one for one in self.ids if one not in gone)
        if self.group is not None:
            for one in gone:
                self.group.remove(one)


class Followers:
    """All targets of one tracker.

    When a target is corrected or added in an earlier frame, it alone is tracked again from there. The others know those
    frames already: their earlier outputs are repeated until it has caught up.
    """

    def __init__(self, load: Callable[[], TrackerHandle]) -> None:
        self._load = load
        self._spare = [load()]
        self.network: str | None = self._spare[0].spec.weights.name  # that is used
        self._cohorts: list[Cohort] = []
        self._starting: tuple[Target, ...] = ()
        self.seconds = 0.0  # inside the trackers, for the last frame

    @property
    def ids(self) -> set[int]:
        """Those that are followed."""
        return {one for cohort in self._cohorts for one in cohort.ids} | {target.id for target in self._starting}

    def change(self, started: tuple[Target, ...], removed: Iterable[int] = ()) -> None:
        """From the next frame on: these start from their boxes, those are no longer followed."""
        gone = {target.id for target in started} | set(removed)
        for cohort in self._cohorts:
            cohort.leave(gone)
        self._spare += [cohort.handle for cohort in self._cohorts if not cohort.ids]
        self._cohorts = [cohort for cohort in self._cohorts if cohort.ids]
        self._starting = started

    def step(self, frame: np.ndarray, index: int) -> dict[int, dict[str, Any] | None]:
        """The output for each target in frame ``index``; None where there is one from before."""
        outputs: dict[int, dict[str, Any] | None] = {}
        self.seconds = 0.0
        for cohort in self._cohorts:
            if index < cohort.next_frame:
                outputs.update(dict.fromkeys(cohort.ids))
                continue
            outputs.update(cohort.update(frame))
            cohort.next_frame, self.seconds = index + 1, self.seconds + cohort.seconds
        if self._starting:
            cohort = Cohort(self._spare.pop() if self._spare else self._load(), index + 1, ())
            outputs.update(cohort.start(frame, self._starting))
            cohort.ids, self._starting = tuple(target.id for target in self._starting), ()
            self._cohorts.append(cohort)
            self.seconds += cohort.seconds
        return dict(sorted(outputs.items()))
