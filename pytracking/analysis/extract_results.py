"""pytracking's import path for :func:`pytracking.compat.analysis.extract_results`."""
from pytracking.compat.analysis import extract_results  # noqa: F401
