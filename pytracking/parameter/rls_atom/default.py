"""RLS-ATOM: ATOM with recursive least squares instead of conjugate gradients in the update stage."""
from pytracking.tracker.atom.params import ATOM, ATOM_CURVATURE
from pytracking.tracker.rls_atom.params import RLSAtomParams


def parameters() -> RLSAtomParams:
    return RLSAtomParams(**ATOM, step_length=3e-2, delta=0.1 * ATOM_CURVATURE)
