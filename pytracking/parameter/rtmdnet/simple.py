"""simpleRT-MDNet, the paper's second baseline: Algorithm 1 with plain mini-batch gradient descent."""
from pytracking.tracker.rtmdnet.params import ALGORITHM_1, RtmdnetParams


def parameters() -> RtmdnetParams:
    return RtmdnetParams(**ALGORITHM_1)
