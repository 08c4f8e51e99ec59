"""RLS-PrDiMP-50: PrDiMP-50 with recursive least squares in the update stage."""
from pytracking.tracker.dimp.params import ALGORITHM_2, PRDIMP50, PRDIMP_CURVATURE
from pytracking.tracker.rls_dimp.params import RLSDimpParams


def parameters() -> RLSDimpParams:
    return RLSDimpParams(**PRDIMP50 | ALGORITHM_2, step_length=3e-2, delta=0.1 * PRDIMP_CURVATURE)
