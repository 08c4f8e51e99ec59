from pytracking.tracker.base import TrackerParams


def parameters() -> TrackerParams:
    return TrackerParams()
