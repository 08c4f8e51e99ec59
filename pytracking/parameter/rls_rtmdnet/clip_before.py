"""RLS-RTMDNet with the gradient clipped before preconditioning: far longer steps, for comparison (docs/rtmdnet.md)."""
from pytracking.tracker.rls_rtmdnet.params import RlsRtmdnetParams


def parameters() -> RlsRtmdnetParams:
    return RlsRtmdnetParams(clip="before")
