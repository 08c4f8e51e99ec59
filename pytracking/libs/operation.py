"""Upstream pytracking's path to :mod:`pytracking.compat.operation`."""
from pytracking.compat.operation import conv1x1, conv2d
