"""RLS-DiMP as its released code computes it where that departs from the paper (short-term step length)."""
from pytracking.tracker.rls_dimp.params import RELEASED, RLSDimpParams


def parameters() -> RLSDimpParams:
    return RLSDimpParams(**RELEASED, step_length=3e-2)
