"""RLS-DiMP for GOT-10k, whose protocol requires a network trained on GOT-10k alone."""
from pytracking.tracker.rls_dimp.params import RLSDimpParams


def parameters() -> RLSDimpParams:
    return RLSDimpParams(weights="dimp50_got10k.pth")
