"""pytracking's place for :mod:`pytracking.compat.networks`."""
from pytracking.compat.networks import NetWithBackbone, NetWrapper  # noqa: F401
