"""DiMP-50 as published, the default of `dimp`."""
from pytracking.parameter.dimp.dimp50 import parameters

__all__ = ["parameters"]
