"""pytracking's place for :mod:`pytracking.compat.operation`."""
from pytracking.compat.operation import conv1x1, conv2d  # noqa: F401
