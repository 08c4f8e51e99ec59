"""RT-MDNet as published: long- and short-term memory."""
from pytracking.tracker.rtmdnet.params import RTMDNetParams


def parameters() -> RTMDNetParams:
    return RTMDNetParams()
