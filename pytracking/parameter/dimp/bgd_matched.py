"""BGD-DiMP with RLS-DiMP's step length: the control that separates memory from step length (not in the paper).

P_0 = I / delta makes the RLS step 1 / delta = 10 times as long as the BGD step at equal learning rate.
"""
from dataclasses import replace

from pytracking.parameter.dimp import bgd
from pytracking.tracker.dimp.params import DimpParams

DELTA = 0.1  # of RLS-DiMP


def parameters() -> DimpParams:
    return replace(bgd.parameters(), step_factor=1 / DELTA)
