"""pytracking's place for :mod:`pytracking.compat.networks`."""
from pytracking.compat.networks import load_network  # noqa: F401
