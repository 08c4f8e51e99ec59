"""Beyond the paper: P starts again after every 100th update, as the released code has it, else as in the paper."""
from pytracking.tracker.rls_dimp.params import RLSDimpParams


def parameters() -> RLSDimpParams:
    return RLSDimpParams(reset_every=100)
