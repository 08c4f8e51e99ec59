"""RLS-DiMP with the released code's deviations from the paper, at the short-term step length."""
from pytracking.tracker.rls_dimp.params import RELEASED, RLSDimpParams


def parameters() -> RLSDimpParams:
    return RLSDimpParams(**RELEASED, step_length=3e-2)
