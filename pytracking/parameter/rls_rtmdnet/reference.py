"""RLS-RTMDNet as released, with its departures from the paper (docs/rtmdnet.md)."""
from pytracking.tracker.rls_rtmdnet.params import RLSRTMDNetParams


def parameters() -> RLSRTMDNetParams:
    return RLSRTMDNetParams(
        clip="after", decay="plain", virtual_input="before_dropout", weight_backup="alias", memory_budget=None
    )
