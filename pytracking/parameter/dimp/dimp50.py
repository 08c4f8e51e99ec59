"""DiMP-50 as published: steepest descent with two recursions every 20th frame."""
from pytracking.tracker.dimp.params import DimpParams


def parameters() -> DimpParams:
    return DimpParams(net_opt_update_iter=2)
