"""BGD-DiMP with a moderate-moving average of the filters, long-term."""
from pytracking.tracker.dimp.params import BGD_LONG_TERM, Algorithm2Params


def parameters() -> Algorithm2Params:
    return Algorithm2Params(**BGD_LONG_TERM, ema_alpha=0.5)
