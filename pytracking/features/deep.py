"""Upstream pytracking's path to :mod:`pytracking.compat.features`."""
from pytracking.compat.features import ATOMResNet18, ATOMResNet50  # noqa: F401
