"""What `dimp` runs without a choice: DiMP-50 as published."""
from pytracking.parameter.dimp.dimp50 import parameters

__all__ = ["parameters"]
