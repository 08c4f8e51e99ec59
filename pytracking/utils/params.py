"""Upstream pytracking's path to :mod:`pytracking.compat.params`."""
from pytracking.compat.params import Choice, FeatureParams, TrackerParams  # noqa: F401
