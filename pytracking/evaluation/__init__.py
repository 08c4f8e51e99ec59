"""Sequences, datasets, running, result files and paths."""
from pytracking.evaluation.datasets.registry import get_dataset
from pytracking.evaluation.environment import env_settings
from pytracking.evaluation.sequence import Sequence, SequenceList
from pytracking.evaluation.tracker import Tracker, trackerlist
from pytracking.utils.upstream import upstream_names

__all__ = ["Sequence", "SequenceList", "Tracker", "env_settings", "get_dataset", "trackerlist"]

__getattr__ = upstream_names(__name__)
