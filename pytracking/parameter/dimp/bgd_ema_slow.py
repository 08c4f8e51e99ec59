"""BGD-DiMP with a slow-moving average of the filters (BGD-DiMP^sm), short-term."""
from pytracking.tracker.dimp.params import BGD, Algorithm2Params


def parameters() -> Algorithm2Params:
    return Algorithm2Params(**BGD, ema_alpha=0.01)
