"""pytracking's place for :mod:`pytracking.compat.params`."""
from pytracking.compat.params import Choice, FeatureParams, TrackerParams  # noqa: F401
