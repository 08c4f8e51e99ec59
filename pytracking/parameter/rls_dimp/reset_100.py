"""Beyond the paper: P starts again after every 100th update, as the released code has it, else as in the paper."""
from pytracking.tracker.rls_dimp.params import RlsDimpParams


def parameters() -> RlsDimpParams:
    return RlsDimpParams(reset_every=100)
