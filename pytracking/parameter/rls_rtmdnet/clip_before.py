"""RLS-RTMDNet with the gradient clipped before preconditioning: far longer steps, for comparison (docs/rtmdnet.md)."""
from pytracking.tracker.rls_rtmdnet.params import RLSRtmdnetParams
from pytracking.tracker.rtmdnet.params import ALGORITHM_1


def parameters() -> RLSRtmdnetParams:
    return RLSRtmdnetParams(**ALGORITHM_1, clip="before")
