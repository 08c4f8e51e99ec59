"""simpleRT-MDNet, the paper's second baseline: Algorithm 1 with plain mini-batch gradient descent."""
from pytracking.tracker.rtmdnet.params import ALGORITHM_1, RTMDNetParams


def parameters() -> RTMDNetParams:
    return RTMDNetParams(**ALGORITHM_1)
