"""DiMP*: DiMP-50 with five instead of two recursions of steepest descent in the update stage."""
from pytracking.tracker.dimp.params import DimpParams


def parameters() -> DimpParams:
    return DimpParams(net_opt_update_iter=5)
