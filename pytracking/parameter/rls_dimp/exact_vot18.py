"""Beyond the paper: `vot18` with exact least squares over all positions of all samples."""
from pytracking.tracker.dimp.params import ALGORITHM_2_VOT, VOT18
from pytracking.tracker.rls_dimp.params import RLSDimpParams


def parameters() -> RLSDimpParams:
    return RLSDimpParams(**VOT18 | ALGORITHM_2_VOT, learner="exact")
