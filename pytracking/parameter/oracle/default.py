"""The annotation: what a perfect tracker scores."""
from pytracking.tracker.base import TrackerParams


def parameters() -> TrackerParams:
    return TrackerParams()
