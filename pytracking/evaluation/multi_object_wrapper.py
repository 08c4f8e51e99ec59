"""pytracking's import path for :mod:`pytracking.compat.multi_object`."""
from pytracking.compat.multi_object import MultiObjectWrapper  # noqa: F401
