"""Beyond the paper: ATOM with exact least squares over every position of the samples instead of conjugate gradients."""
from pytracking.tracker.atom.params import ATOM
from pytracking.tracker.rls_atom.params import RLSAtomParams


def parameters() -> RLSAtomParams:
    return RLSAtomParams(**ATOM, learner="exact")
