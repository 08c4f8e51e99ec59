"""Beyond the paper: `exact` with a window of about ten samples, the control for what its memory is worth."""
from pytracking.tracker.dimp.params import ALGORITHM_2
from pytracking.tracker.rls_dimp.params import RLSDimpParams


def parameters() -> RLSDimpParams:
    return RLSDimpParams(**ALGORITHM_2, learner="exact", beta=0.9)
