"""DiMP-18 as published."""
from pytracking.tracker.dimp.params import DimpParams


def parameters() -> DimpParams:
    return DimpParams(weights="dimp18.pth", net_opt_update_iter=2)
