"""PrDiMP-50 with gradient descent at RLS-PrDiMP's step length: separates memory from step length."""
from pytracking.parameter.dimp.bgd_matched import DELTA
from pytracking.tracker.dimp.params import PRDIMP50_BGD, DimpParams


def parameters() -> DimpParams:
    return DimpParams(**PRDIMP50_BGD, step_factor=1 / DELTA)
