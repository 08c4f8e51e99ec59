"""RLS-RTMDNet as in the earlier conference paper: delta = 1, rates 0.01 for fc4 and fc5 and 0.1 for fc6."""
from pytracking.tracker.rls_rtmdnet.params import RLSRtmdnetParams
from pytracking.tracker.rtmdnet.params import ALGORITHM_1


def parameters() -> RLSRtmdnetParams:
    return RLSRtmdnetParams(**ALGORITHM_1, delta=(1.0, 1.0, 1.0), initial_rate=0.01, regular_rate=0.01)
