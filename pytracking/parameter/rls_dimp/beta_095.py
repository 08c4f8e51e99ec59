"""Beyond the paper: `default` with forgetting factor 0.95 (after 20 updates an input has a third of its weight)."""
from pytracking.tracker.rls_dimp.params import RLSDimpParams


def parameters() -> RLSDimpParams:
    return RLSDimpParams(beta=0.95)
