"""RLS-RTMDNet as in the paper: delta = 5e-4 for each layer, beta = 1, RT-MDNet's own learning rates."""
from pytracking.tracker.rls_rtmdnet.params import RLSRtmdnetParams
from pytracking.tracker.rtmdnet.params import ALGORITHM_1


def parameters() -> RLSRtmdnetParams:
    return RLSRtmdnetParams(**ALGORITHM_1)
