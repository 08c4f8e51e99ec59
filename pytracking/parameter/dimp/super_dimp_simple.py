"""SuperDiMP-simple as published: SuperDiMP with a Gaussian label and a hinge loss instead of learnt maps."""
from pytracking.tracker.dimp.params import SUPER_DIMP, DimpParams


def parameters() -> DimpParams:
    return DimpParams(**SUPER_DIMP | {"weights": "super_dimp_simple.pth.tar"})
