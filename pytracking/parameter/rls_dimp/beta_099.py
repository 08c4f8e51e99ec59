"""Beyond the paper: `default` with forgetting factor 0.99 (after 100 updates an input has a third of its weight)."""
from pytracking.tracker.rls_dimp.params import RLSDimpParams


def parameters() -> RLSDimpParams:
    return RLSDimpParams(beta=0.99)
