"""PrDiMP-18 as published."""
from pytracking.tracker.dimp.params import PRDIMP18, DimpParams


def parameters() -> DimpParams:
    return DimpParams(**PRDIMP18)
