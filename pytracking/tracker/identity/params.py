"""Parameters of the identity tracker."""
from dataclasses import dataclass

from pytracking.tracker.base import TrackerParams


@dataclass(kw_only=True, slots=True)
class IdentityParams(TrackerParams):
    """Parameters of the identity tracker."""

    seconds_per_frame: float = 0.0  # pause per frame, to simulate a slow tracker in measurements
