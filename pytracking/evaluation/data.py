"""pytracking's import path for :mod:`pytracking.compat.datasets`."""
from pytracking.compat.datasets import BaseDataset, Sequence, SequenceList  # noqa: F401
