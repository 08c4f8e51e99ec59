"""Beyond the paper's text: P dense and in float16, as the released code keeps it; everything else as in the paper."""
from pytracking.tracker.dimp.params import ALGORITHM_2
from pytracking.tracker.rls_dimp.params import RLSDimpParams


def parameters() -> RLSDimpParams:
    return RLSDimpParams(**ALGORITHM_2, p_form="dense", p_dtype="float16")
