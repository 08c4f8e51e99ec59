"""Returns the first box for ever: the floor of every comparison, and the proof of the contracts."""
from pytracking.tracker.base import BaseTracker


class IdentityTracker(BaseTracker):
    def initialize(self, image, info):
        self._box = list(info["init_bbox"])

    def track(self, image, info=None):
        return {"target_bbox": list(self._box)}


def get_tracker_class() -> type[BaseTracker]:
    return IdentityTracker
