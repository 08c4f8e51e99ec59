"""DiMP*: DiMP-50 with as many recursions of steepest descent in the update stage as Algorithm 2 has, five."""
from pytracking.tracker.dimp.params import Algorithm2Params


def parameters() -> Algorithm2Params:
    return Algorithm2Params(update_when_lost=False)
