"""What `rtmdnet` runs without a choice: RT-MDNet as published."""
from pytracking.parameter.rtmdnet.rtmdnet import parameters

__all__ = ["parameters"]
