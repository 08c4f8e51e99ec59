"""The released RLS-DiMP code's settings for long-term benchmarks."""
from pytracking.tracker.rls_dimp.params import RELEASED, RLSDimpParams


def parameters() -> RLSDimpParams:
    return RLSDimpParams(**RELEASED, step_length=3e-3)
