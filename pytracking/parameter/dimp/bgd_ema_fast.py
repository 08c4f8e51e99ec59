"""BGD-DiMP with a fast-moving average of the filters (BGD-DiMP^fm), short-term."""
from pytracking.tracker.dimp.params import BGD, Algorithm2Params


def parameters() -> Algorithm2Params:
    return Algorithm2Params(**BGD, ema_alpha=0.99)
