"""DiMP*: DiMP-50 with five recursions of steepest descent per update, as in Algorithm 2."""
from pytracking.tracker.dimp.params import Algorithm2Params


def parameters() -> Algorithm2Params:
    return Algorithm2Params(update_when_lost=False)
