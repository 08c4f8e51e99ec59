"""RLS-DiMP as in the paper, with its learning rate for short-term benchmarks (3e-2)."""
from pytracking.tracker.rls_dimp.params import RlsDimpParams


def parameters() -> RlsDimpParams:
    return RlsDimpParams()
