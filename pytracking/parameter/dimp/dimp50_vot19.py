"""DiMP-50 as published for VOT 2019."""
from pytracking.tracker.dimp.params import VOT19, DimpParams


def parameters() -> DimpParams:
    return DimpParams(**VOT19)
