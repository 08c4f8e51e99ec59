"""BGD-DiMP with the paper's learning rate for long-term benchmarks."""
from pytracking.tracker.dimp.params import BGD_LONG_TERM, Algorithm2Params


def parameters() -> Algorithm2Params:
    return Algorithm2Params(**BGD_LONG_TERM)
