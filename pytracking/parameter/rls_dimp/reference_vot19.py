"""The released RLS-DiMP code's settings for VOT 2019 (step length 0.06, every 10th frame)."""
from pytracking.tracker.dimp.params import VOT19
from pytracking.tracker.rls_dimp.params import RELEASED, RLSDimpParams


def parameters() -> RLSDimpParams:
    return RLSDimpParams(**VOT19 | RELEASED | {"net_opt_iter": 25, "net_opt_hn_iter": 3}, step_length=0.06)
