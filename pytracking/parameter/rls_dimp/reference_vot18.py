"""The released RLS-DiMP code's settings for VOT 2018 (step length 0.06, every 10th frame)."""
from pytracking.tracker.dimp.params import VOT18
from pytracking.tracker.rls_dimp.params import RELEASED, RLSDimpParams


def parameters() -> RLSDimpParams:
    return RLSDimpParams(**VOT18 | RELEASED, step_length=0.06)
