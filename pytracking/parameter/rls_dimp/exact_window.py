"""Beyond the paper: `exact` with a memory of about ten samples, to measure what the full memory contributes."""
from pytracking.tracker.rls_dimp.params import RLSDimpParams


def parameters() -> RLSDimpParams:
    return RLSDimpParams(learner="exact", beta=0.9)
