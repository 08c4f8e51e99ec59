"""BGD-DiMP for VOT 2018: five recursions every 20th frame, with the short-term learning rate."""
from pytracking.tracker.dimp.params import ALGORITHM_2_VOT, VOT18, DimpParams


def parameters() -> DimpParams:
    return DimpParams(**VOT18 | ALGORITHM_2_VOT, learner="gradient_descent")
