"""SuperDiMP with gradient descent in the update stage, as in BGD-DiMP."""
from pytracking.tracker.dimp.params import SUPER_DIMP_BGD, DimpParams


def parameters() -> DimpParams:
    return DimpParams(**SUPER_DIMP_BGD)
