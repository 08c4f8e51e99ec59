"""RLS-DiMP for GOT-10k, whose protocol allows only networks trained on GOT-10k."""
from pytracking.tracker.rls_dimp.params import RLSDimpParams


def parameters() -> RLSDimpParams:
    return RLSDimpParams(weights="dimp50_got10k.pth")
