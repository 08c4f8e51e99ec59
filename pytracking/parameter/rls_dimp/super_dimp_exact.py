"""Beyond the paper: SuperDiMP with exact least squares over all positions of all samples."""
from pytracking.tracker.dimp.params import ALGORITHM_2, SUPER_DIMP
from pytracking.tracker.rls_dimp.params import RLSDimpParams


def parameters() -> RLSDimpParams:
    return RLSDimpParams(**SUPER_DIMP | ALGORITHM_2, learner="exact")
