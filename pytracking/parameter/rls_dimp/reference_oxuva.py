"""The released RLS-DiMP code's settings for OxUvA."""
from pytracking.tracker.rls_dimp.params import RELEASED, RLSDimpParams


def parameters() -> RLSDimpParams:
    return RLSDimpParams(**RELEASED, step_length=3e-3, output_presence=True)
