"""DiMP (Bhat et al., 2019) and the paper's baselines, which differ from it in the online learner."""


def get_tracker_class() -> type:
    from pytracking.tracker.dimp.dimp import DimpTracker

    return DimpTracker
