"""pytracking's import path for :func:`pytracking.compat.packing.pack_lasot_results`."""
from pytracking.compat.packing import pack_lasot_results  # noqa: F401
