"""Beyond the paper's text: `default` with P dense and in float16, as in the released code."""
from pytracking.tracker.rls_dimp.params import RLSDimpParams


def parameters() -> RLSDimpParams:
    return RLSDimpParams(p_form="dense", p_dtype="float16")
