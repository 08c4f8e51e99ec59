"""BGD-DiMP, short-term: RLS-DiMP's Algorithm 2 with plain gradient descent instead of RLS."""
from pytracking.tracker.dimp.params import ALGORITHM_2, DimpParams


def parameters() -> DimpParams:
    return DimpParams(**ALGORITHM_2, learner="gradient_descent")
