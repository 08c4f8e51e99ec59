"""pytracking's place for :mod:`pytracking.compat.visdom`."""
from pytracking.compat.visdom import Visdom  # noqa: F401
