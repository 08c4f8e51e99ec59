"""RLS-DiMP as in the paper, with its learning rate for short-term benchmarks (3e-2) unless the network has another."""
from pytracking.tracker.rls_dimp.params import RLSDimpParams


def parameters() -> RLSDimpParams:
    return RLSDimpParams()
