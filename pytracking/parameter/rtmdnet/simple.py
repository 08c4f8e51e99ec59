"""simpleRT-MDNet, the paper's second baseline: Algorithm 1 with plain mini-batch gradient descent."""
from pytracking.tracker.rtmdnet.params import RtmdnetParams


def parameters() -> RtmdnetParams:
    return RtmdnetParams(long_term=20, shared_momentum=False, weight_backup="copy")
