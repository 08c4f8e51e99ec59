"""Upstream pytracking's path to :mod:`pytracking.compat.tensorlist`."""
from pytracking.compat.tensorlist import TensorList, tensor_operation
