"""BGD-DiMP for VOT 2019: five recursions every 20th frame, with the short-term learning rate."""
from pytracking.tracker.dimp.params import ALGORITHM_2_VOT, VOT19, DimpParams


def parameters() -> DimpParams:
    return DimpParams(**VOT19 | ALGORITHM_2_VOT, learner="gradient_descent")
