"""Always returns the first box: a trivial baseline and the simplest complete tracker."""
import time

from pytracking.tracker.base import BaseTracker
from pytracking.tracker.identity.params import IdentityParams


class IdentityTracker(BaseTracker):
    """Returns the first box for every frame."""

    params: IdentityParams

    def initialize(self, image, info):
        self._box = list(info["init_bbox"])

    def track(self, image, info=None):
        if self.params.seconds_per_frame:
            time.sleep(self.params.seconds_per_frame)
        return {"target_bbox": list(self._box)}


def get_tracker_class() -> type[BaseTracker]:
    return IdentityTracker
