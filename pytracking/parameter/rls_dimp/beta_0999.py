"""Beyond the paper: `default` with forgetting factor 0.999 (after 1000 updates an input has a third of its weight)."""
from pytracking.tracker.rls_dimp.params import RLSDimpParams


def parameters() -> RLSDimpParams:
    return RLSDimpParams(beta=0.999)
