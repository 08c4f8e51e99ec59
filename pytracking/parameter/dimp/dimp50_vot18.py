"""DiMP-50 as published for VOT 2018."""
from pytracking.tracker.dimp.params import VOT18, DimpParams


def parameters() -> DimpParams:
    return DimpParams(**VOT18)
