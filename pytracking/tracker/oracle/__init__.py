"""Returns the annotation, so a correct evaluation gives it the score 1. For tests only."""
import numpy as np

from pytracking.tracker.base import BaseTracker


class OracleTracker(BaseTracker):
    """Returns the annotated boxes."""

    needs_ground_truth = True

    def initialize(self, image, info):
        self._boxes = np.asarray(info["ground_truth"], dtype=np.float64)
        self._box = self._boxes[0]
        self._frame = 0

    def track(self, image, info=None):
        """Returns the annotated box, or the last one while the target is absent."""
        self._frame += 1
        if self._frame < len(self._boxes) and np.isfinite(self._boxes[self._frame]).all():
            self._box = self._boxes[self._frame]
        return {"target_bbox": self._box.tolist()}


def get_tracker_class() -> type[BaseTracker]:
    return OracleTracker
