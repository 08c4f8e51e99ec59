"""SuperDiMP as published: DiMP's classifier, PrDiMP's boxes and search area."""
from pytracking.tracker.dimp.params import SUPER_DIMP, DimpParams


def parameters() -> DimpParams:
    return DimpParams(**SUPER_DIMP)
