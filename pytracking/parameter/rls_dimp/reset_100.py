"""Beyond the paper: P starts again after every 100th update, as the released code has it, else as in the paper."""
from pytracking.tracker.dimp.params import ALGORITHM_2
from pytracking.tracker.rls_dimp.params import RLSDimpParams


def parameters() -> RLSDimpParams:
    return RLSDimpParams(**ALGORITHM_2, reset_every=100)
