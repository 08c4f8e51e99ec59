"""pytracking's import path for :func:`pytracking.compat.packing.pack_got10k_results`."""
from pytracking.compat.packing import pack_got10k_results  # noqa: F401
