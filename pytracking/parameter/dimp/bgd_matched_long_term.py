"""BGD-DiMP with RLS-DiMP's step length, long-term; see ``bgd_matched``."""
from dataclasses import replace

from pytracking.parameter.dimp import bgd_long_term, bgd_matched
from pytracking.tracker.dimp.params import DimpParams


def parameters() -> DimpParams:
    params = bgd_long_term.parameters()
    return replace(params, step_length=params.step_length / bgd_matched.DELTA)
