"""Small experiments for ``run_experiment.py``: each function returns trackers and the sequences to run them on.

Copy one to start your own. The paper's tables are defined in ``experiments/tables``.
"""
from pytracking.evaluation import SequenceList, Tracker, get_dataset, trackerlist


def peers_on_demo() -> tuple[list[Tracker], SequenceList]:
    """Two of OpenCV's trackers and one that never moves, on the demo sequences."""
    trackers = [Tracker("identity", "default"), Tracker("opencv", "kcf"), Tracker("opencv", "csrt")]
    return trackers, get_dataset("demo")


def memory_on_demo() -> tuple[list[Tracker], SequenceList]:
    """RLS-DiMP and plain gradient descent, three runs each, on the sequences where an appearance returns."""
    ours = trackerlist("rls_dimp", "default", range(3), "RLS-DiMP")
    baseline = trackerlist("dimp", "bgd", range(3), "BGD-DiMP")
    dataset = get_dataset("demo")
    return ours + baseline, SequenceList([dataset["lantern"], dataset["lantern_long"]])
