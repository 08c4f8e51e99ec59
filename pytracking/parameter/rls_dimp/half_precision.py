"""Beyond the paper's text: P dense and in float16, as the released code keeps it; everything else as in the paper."""
from pytracking.tracker.rls_dimp.params import RLSDimpParams


def parameters() -> RLSDimpParams:
    return RLSDimpParams(p_form="dense", p_dtype="float16")
