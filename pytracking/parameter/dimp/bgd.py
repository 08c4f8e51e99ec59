"""BGD-DiMP, short-term: RLS-DiMP's Algorithm 2 with plain gradient descent, five recursions every 20th frame."""
from pytracking.tracker.dimp.params import DimpParams


def parameters() -> DimpParams:
    return DimpParams(learner="gradient_descent", step_length=3e-2, net_opt_update_iter=5, update_when_lost=True)
