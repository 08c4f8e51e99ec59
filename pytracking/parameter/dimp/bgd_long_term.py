"""BGD-DiMP with the paper's learning rate for long-term benchmarks."""
from dataclasses import replace

from pytracking.parameter.dimp import bgd
from pytracking.tracker.dimp.params import DimpParams


def parameters() -> DimpParams:
    return replace(bgd.parameters(), step_length=3e-3)
