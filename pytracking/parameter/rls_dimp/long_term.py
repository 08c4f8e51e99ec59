"""RLS-DiMP as in the paper, with its learning rate for long-term benchmarks (LaSOT, OxUvA, TLP)."""
from pytracking.tracker.rls_dimp.params import RLSDimpParams


def parameters() -> RLSDimpParams:
    return RLSDimpParams(step_length=3e-3)
