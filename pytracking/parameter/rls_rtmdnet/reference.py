"""RLS-RTMDNet as released, with its departures from the paper (docs/rtmdnet.md)."""
from pytracking.tracker.rls_rtmdnet.params import RLSRtmdnetParams


def parameters() -> RLSRtmdnetParams:
    return RLSRtmdnetParams(
        clip="after", decay="plain", virtual_input="before_dropout", weight_backup="alias", p_memory_mib=None
    )
