"""Returns the first box for ever: the floor of every comparison, and the proof of the contracts."""
from __future__ import annotations

import time
from dataclasses import dataclass

from pytracking.tracker.base import BaseTracker, TrackerParams


@dataclass(kw_only=True, slots=True)
class IdentityParams(TrackerParams):
    """Parameters of the identity tracker."""

    seconds_a_frame: float = 0.0  # time to wait: stands in for a slow tracker where an engine or a protocol is measured


class IdentityTracker(BaseTracker):
    params: IdentityParams

    def initialize(self, image, info):
        self._box = list(info["init_bbox"])

    def track(self, image, info=None):
        if self.params.seconds_a_frame:
            time.sleep(self.params.seconds_a_frame)
        return {"target_bbox": list(self._box)}


def get_tracker_class() -> type[BaseTracker]:
    return IdentityTracker
