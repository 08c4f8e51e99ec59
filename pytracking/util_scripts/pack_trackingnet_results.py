"""pytracking's import path for :func:`pytracking.compat.packing.pack_trackingnet_results`."""
from pytracking.compat.packing import pack_trackingnet_results  # noqa: F401
