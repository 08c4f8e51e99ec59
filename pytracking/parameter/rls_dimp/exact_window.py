"""Beyond the paper: `exact` with a window of about ten samples, the control for what its memory is worth."""
from pytracking.tracker.rls_dimp.params import RLSDimpParams


def parameters() -> RLSDimpParams:
    return RLSDimpParams(learner="exact", beta=0.9)
