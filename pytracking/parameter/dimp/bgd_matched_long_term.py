"""BGD-DiMP at RLS-DiMP's step length, long-term; see ``bgd_matched``."""
from pytracking.parameter.dimp.bgd_matched import DELTA
from pytracking.tracker.dimp.params import BGD_LONG_TERM, Algorithm2Params


def parameters() -> Algorithm2Params:
    return Algorithm2Params(**BGD_LONG_TERM, step_factor=1 / DELTA)
