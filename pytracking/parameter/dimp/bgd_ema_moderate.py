"""BGD-DiMP with a moderate-moving average of the filters (BGD-DiMP^mm), short-term."""
from dataclasses import replace

from pytracking.parameter.dimp import bgd
from pytracking.tracker.dimp.params import DimpParams


def parameters() -> DimpParams:
    return replace(bgd.parameters(), ema_alpha=0.5)
