"""BGD-DiMP at RLS-DiMP's step length: the control that separates memory from step length (not in the paper).

With P_0 = I / delta, a step of RLS is 1 / delta = 10 times as long as one of BGD at the same learning rate.
"""
from pytracking.tracker.dimp.params import BGD, Algorithm2Params

DELTA = 0.1  # of RLS-DiMP


def parameters() -> Algorithm2Params:
    return Algorithm2Params(**BGD, step_factor=1 / DELTA)
