"""pytracking's import path for :func:`pytracking.compat.analysis.playback_results`."""
from pytracking.compat.analysis import playback_results  # noqa: F401
