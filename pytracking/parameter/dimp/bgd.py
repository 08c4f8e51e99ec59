"""BGD-DiMP, short-term: RLS-DiMP's Algorithm 2 with plain gradient descent instead of RLS."""
from pytracking.tracker.dimp.params import BGD, Algorithm2Params


def parameters() -> Algorithm2Params:
    return Algorithm2Params(**BGD)
