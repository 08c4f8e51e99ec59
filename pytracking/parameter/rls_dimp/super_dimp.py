"""RLS-SuperDiMP: SuperDiMP whose filter is updated by recursive least squares."""
from pytracking.tracker.dimp.params import ALGORITHM_2, SUPER_DIMP
from pytracking.tracker.rls_dimp.params import RlsDimpParams


def parameters() -> RlsDimpParams:
    return RlsDimpParams(**SUPER_DIMP | ALGORITHM_2)
