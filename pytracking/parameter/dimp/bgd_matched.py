"""BGD-DiMP with RLS-DiMP's step length: the control that separates memory from step length (not in the paper).

P_0 = I / delta makes the RLS step 1 / delta = 10 times as long as the BGD step at equal learning rate.
"""
from dataclasses import replace

from pytracking.parameter.dimp import bgd
from pytracking.tracker.dimp.params import DimpParams

DELTA = 0.1  # of RLS-DiMP


def parameters() -> DimpParams:
    params = bgd.parameters()
    return replace(params, step_length=params.step_length / DELTA)
