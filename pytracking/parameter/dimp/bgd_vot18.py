"""BGD-DiMP for VOT 2018: five recursions of gradient descent every 20th frame, the short-term learning rate."""
from pytracking.tracker.dimp.params import ALGORITHM_2_VOT, VOT18, DimpParams


def parameters() -> DimpParams:
    return DimpParams(**VOT18 | ALGORITHM_2_VOT, learner="gradient_descent")
