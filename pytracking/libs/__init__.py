"""Upstream pytracking's path to :mod:`pytracking.compat.tensorlist` and its companions."""
from pytracking.compat.tensorlist import TensorList
