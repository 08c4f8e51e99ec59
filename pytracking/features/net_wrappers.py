"""Upstream pytracking's path to :mod:`pytracking.compat.networks`."""
from pytracking.compat.networks import NetWithBackbone, NetWrapper  # noqa: F401
