"""SuperDiMP with gradient descent at RLS-SuperDiMP's step length: separates memory from step length."""
from pytracking.parameter.dimp.bgd_matched import DELTA
from pytracking.tracker.dimp.params import SUPER_DIMP_BGD, DimpParams


def parameters() -> DimpParams:
    return DimpParams(**SUPER_DIMP_BGD, step_factor=1 / DELTA)
