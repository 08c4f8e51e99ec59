"""Beyond the paper: PrDiMP-50 with the exact learner, which solves the sum of Newton's models of all samples."""
from pytracking.tracker.dimp.params import ALGORITHM_2, PRDIMP50
from pytracking.tracker.rls_dimp.params import RLSDimpParams


def parameters() -> RLSDimpParams:
    return RLSDimpParams(**PRDIMP50 | ALGORITHM_2, learner="exact", exact_ridge=0.0)  # PrDiMP's own is large
