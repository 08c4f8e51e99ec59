"""Beyond the paper: forgetting factor 0.95 (after 20 updates an input counts for a third), else as in the paper."""
from pytracking.tracker.rls_dimp.params import RLSDimpParams


def parameters() -> RLSDimpParams:
    return RLSDimpParams(beta=0.95)
