"""RLS-DiMP for OxUvA: long-term settings, and each output says whether the target is present."""
from pytracking.tracker.rls_dimp.params import RLSDimpParams


def parameters() -> RLSDimpParams:
    return RLSDimpParams(step_length=3e-3, output_presence=True)
