"""RLS-DiMP for VOT 2019: DiMP's settings with the paper's five recursions every 20th frame at 3e-2."""
from pytracking.tracker.dimp.params import ALGORITHM_2_VOT, VOT19
from pytracking.tracker.rls_dimp.params import RLSDimpParams


def parameters() -> RLSDimpParams:
    return RLSDimpParams(**VOT19 | ALGORITHM_2_VOT)
