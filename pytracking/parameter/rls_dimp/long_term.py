"""RLS-DiMP as in the paper, with its learning rate for long-term benchmarks (LaSOT, OxUvA, TLP)."""
from pytracking.tracker.dimp.params import ALGORITHM_2
from pytracking.tracker.rls_dimp.params import RLSDimpParams


def parameters() -> RLSDimpParams:
    return RLSDimpParams(**ALGORITHM_2, step_length=3e-3)
