"""RLS-DiMP for VOT 2018: DiMP's settings with the paper's five recursions every 20th frame at 3e-2."""
from pytracking.tracker.dimp.params import ALGORITHM_2_VOT, VOT18
from pytracking.tracker.rls_dimp.params import RLSDimpParams


def parameters() -> RLSDimpParams:
    return RLSDimpParams(**VOT18 | ALGORITHM_2_VOT)
