"""PrDiMP-50 as published."""
from pytracking.tracker.dimp.params import PRDIMP50, DimpParams


def parameters() -> DimpParams:
    return DimpParams(**PRDIMP50)
