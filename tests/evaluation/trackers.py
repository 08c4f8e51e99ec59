"""Trackers that misbehave or dawdle in the way a test needs. A module of its own, so that workers can import it."""
from __future__ import annotations

import os
import signal
import time

import numpy as np

from pytracking.evaluation.environment import env_settings
from pytracking.evaluation.tracker import Tracker
from pytracking.tracker.base import BaseTracker, TrackerParams


class RandomWalk(BaseTracker):
    """Moves by numbers from its seed; slow enough to be interrupted."""

    seconds = 0.001

    def initialize(self, image, info):
        self._random = np.random.default_rng(info["seed"])
        self._box = np.array(info["init_bbox"], dtype=np.float64)
        self._name, self._frame = info["sequence_name"], 0

    def track(self, image, info=None):
        time.sleep(self.seconds)
        self._frame += 1
        self._box[:2] += self._random.normal(size=2)
        self.misbehave()
        return {"target_bbox": self._box.tolist(), "score": float(self._box[0])}

    def misbehave(self) -> None:
        """Does nothing unless a test's subclass does."""


class Slow(RandomWalk):
    """Leaves a file with its process number when it starts."""

    seconds = 0.3

    def initialize(self, image, info):
        super().initialize(image, info)
        (env_settings().results_path / f"started.{os.getpid()}").touch()


class FailsOnTwo(RandomWalk):
    def misbehave(self):
        if self._name == "two" and self._frame == 3:
            raise ZeroDivisionError("the filter has no energy")


class DiesOnTwo(RandomWalk):
    def misbehave(self):
        if self._name == "two" and self._frame == 3:
            os.kill(os.getpid(), signal.SIGKILL)


class ReturnsNaN(RandomWalk):
    def misbehave(self):
        if self._frame == 2:
            self._box[0] = np.nan


class CountsThreads(RandomWalk):
    def misbehave(self):
        import torch

        self._box[:] = 10, 10, torch.get_num_threads(), int(os.environ["OMP_NUM_THREADS"])


class SignsItsWork(RandomWalk):
    """Boxes, scores and times are all the number of its process."""

    seconds = 0.02

    def track(self, image, info=None):
        time.sleep(self.seconds)
        return {"target_bbox": [os.getpid(), 10, 20, 20], "score": float(os.getpid()), "time": float(os.getpid())}


class Spec(Tracker):
    """Evaluation's view of one of the classes above."""

    def __init__(self, tracker_class: type[BaseTracker], run_id: int | None = None) -> None:
        super().__init__("identity", "default", run_id, tracker_class.__name__)
        self._own_class = tracker_class

    def create_tracker(self, overrides=None):
        return self._own_class(TrackerParams())
