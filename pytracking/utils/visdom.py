"""Upstream pytracking's path to :mod:`pytracking.compat.visdom`."""
from pytracking.compat.visdom import Visdom  # noqa: F401
