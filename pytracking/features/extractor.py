"""Upstream pytracking's path to :mod:`pytracking.compat.features`."""
from pytracking.compat.features import MultiResolutionExtractor  # noqa: F401
