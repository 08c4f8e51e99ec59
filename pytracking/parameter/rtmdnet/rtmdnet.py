"""RT-MDNet as published: long- and short-term memory."""
from pytracking.tracker.rtmdnet.params import RtmdnetParams


def parameters() -> RtmdnetParams:
    return RtmdnetParams()
