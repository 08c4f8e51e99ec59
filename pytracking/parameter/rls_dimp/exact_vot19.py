"""Beyond the paper: `vot19` with exact least squares over all positions of all samples."""
from pytracking.tracker.dimp.params import ALGORITHM_2_VOT, VOT19
from pytracking.tracker.rls_dimp.params import RLSDimpParams


def parameters() -> RLSDimpParams:
    return RLSDimpParams(**VOT19 | ALGORITHM_2_VOT, learner="exact")
