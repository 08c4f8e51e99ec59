"""Beyond the paper: ATOM with exact least squares over all positions of all samples."""
from pytracking.tracker.atom.params import ATOM
from pytracking.tracker.rls_atom.params import RLSAtomParams


def parameters() -> RLSAtomParams:
    return RLSAtomParams(**ATOM, learner="exact")
