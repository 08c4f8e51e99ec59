"""RLS-DiMP for OxUvA: long-term, and each frame says whether the target is there."""
from pytracking.tracker.rls_dimp.params import RLSDimpParams


def parameters() -> RLSDimpParams:
    return RLSDimpParams(step_length=3e-3, output_presence=True)
