"""BGD-DiMP with a moderate-moving average of the filters, long-term."""
from dataclasses import replace

from pytracking.parameter.dimp import bgd_long_term
from pytracking.tracker.dimp.params import DimpParams


def parameters() -> DimpParams:
    return replace(bgd_long_term.parameters(), ema_alpha=0.5)
