"""Upstream pytracking's path to :mod:`pytracking.compat.networks`."""
from pytracking.compat.networks import load_network  # noqa: F401
