"""Manages one tracker's targets in a run: which are tracked, and from which frame."""
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pytracking.evaluation.handle import TrackerHandle
from pytracking.evaluation.targets import TargetGroup
from pytracking.web.messages import Target


@dataclass
class Cohort:
    """Targets that were started together; trackers of the DiMP family share each pass through the network."""

    handle: TrackerHandle
    next_frame: int  # the first frame that its trackers have not seen
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

    def remove(self, ids: Iterable[int]) -> None:
        """Stops tracking the targets with these ids."""
        removed = set(self.ids) & set(ids)
        self.ids = tuple(one for one in self.ids if one not in removed)
        if self.group is not None:
            for one in removed:
                self.group.remove(one)


class Followers:
    """All targets of one tracker.

    When a target is corrected or added in an earlier frame, only that target is tracked again from there. The others
    have already seen these frames: their earlier outputs are reused until it has caught up.
    """

    def __init__(self, load: Callable[[], TrackerHandle]) -> None:
        self._load = load
        self._spare = [load()]
        self.network: str | None = self._spare[0].spec.weights.name
        self._cohorts: list[Cohort] = []
        self._starting: tuple[Target, ...] = ()
        self.seconds = 0.0  # spent in the trackers for the last frame

    @property
    def ids(self) -> set[int]:
        """Ids of the tracked targets."""
        return {one for cohort in self._cohorts for one in cohort.ids} | {target.id for target in self._starting}

    def change(self, started: tuple[Target, ...], removed: Iterable[int] = ()) -> None:
        """Starts and removes targets with effect from the next frame."""
        replaced = {target.id for target in started} | set(removed)
        for cohort in self._cohorts:
            cohort.remove(replaced)
        self._spare += [cohort.handle for cohort in self._cohorts if not cohort.ids]
        self._cohorts = [cohort for cohort in self._cohorts if cohort.ids]
        self._starting = started

    def step(self, frame: np.ndarray, index: int) -> dict[int, dict[str, Any] | None]:
        """Returns each target's output in frame ``index``; None if the target was tracked there before."""
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
