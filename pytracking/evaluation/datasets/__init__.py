"""Datasets by name: :func:`get_dataset`; one loader module a layout, listed in :mod:`.registry`."""
from pytracking.evaluation.datasets.registry import dataset_names, get_dataset

__all__ = ["dataset_names", "get_dataset"]
