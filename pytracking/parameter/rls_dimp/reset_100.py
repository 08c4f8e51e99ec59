"""Beyond the paper: `default`, but P is reset after every 100th update, as in the released code."""
from pytracking.tracker.rls_dimp.params import RLSDimpParams


def parameters() -> RLSDimpParams:
    return RLSDimpParams(reset_every=100)
