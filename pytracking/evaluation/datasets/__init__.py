"""Loads datasets by name with :func:`get_dataset`; one loader module per layout, listed in :mod:`.registry`."""
from pytracking.evaluation.datasets.registry import dataset_names, get_dataset
from pytracking.utils.upstream import upstream_names

__all__ = ["dataset_names", "get_dataset"]

__getattr__ = upstream_names(__name__)
