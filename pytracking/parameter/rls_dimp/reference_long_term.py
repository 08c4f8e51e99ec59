"""The released RLS-DiMP code's settings for long-term benchmarks."""
from pytracking.tracker.rls_dimp.params import RELEASED, RlsDimpParams


def parameters() -> RlsDimpParams:
    return RlsDimpParams(**RELEASED, step_length=3e-3)
