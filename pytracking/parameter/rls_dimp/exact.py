"""Beyond the paper: `default` with exact least squares over all positions of all samples."""
from pytracking.tracker.rls_dimp.params import RLSDimpParams


def parameters() -> RLSDimpParams:
    return RLSDimpParams(learner="exact")
