"""Beyond the paper: `long_term` with exact least squares, which needs no learning rate."""
from pytracking.tracker.rls_dimp.params import RLSDimpParams


def parameters() -> RLSDimpParams:
    return RLSDimpParams(step_length=3e-3, learner="exact")
