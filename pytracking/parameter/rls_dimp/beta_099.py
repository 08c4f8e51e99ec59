"""Beyond the paper: forgetting factor 0.99 (after 100 updates an input counts for a third), else as in the paper."""
from pytracking.tracker.rls_dimp.params import RLSDimpParams


def parameters() -> RLSDimpParams:
    return RLSDimpParams(beta=0.99)
