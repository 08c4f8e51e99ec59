"""RLS-DiMP as in the paper, with its learning rate for short-term benchmarks (3e-2, or the network's own)."""
from pytracking.tracker.rls_dimp.params import RLSDimpParams


def parameters() -> RLSDimpParams:
    return RLSDimpParams()
