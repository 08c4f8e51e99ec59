"""BGD-DiMP with RLS-DiMP's step length, long-term; see ``bgd_matched``."""
from dataclasses import replace

from pytracking.parameter.dimp import bgd_long_term, bgd_matched
from pytracking.tracker.dimp.params import DimpParams


def parameters() -> DimpParams:
    return replace(bgd_long_term.parameters(), step_factor=1 / bgd_matched.DELTA)
