"""RLS-RTMDNet with the gradient clipped before preconditioning: far longer steps, for comparison (docs/rtmdnet.md)."""
from pytracking.tracker.rls_rtmdnet.params import RLSRTMDNetParams
from pytracking.tracker.rtmdnet.params import ALGORITHM_1


def parameters() -> RLSRTMDNetParams:
    return RLSRTMDNetParams(**ALGORITHM_1, clip="before")
