"""ATOM with gradient descent of RLS-ATOM's step length: the control that separates memory from step length."""
from pytracking.tracker.atom.params import ATOM_BGD, AtomParams

DELTA = 0.1  # of RLS-ATOM, for a loss as curved as DiMP's


def parameters() -> AtomParams:
    return AtomParams(**ATOM_BGD, step_factor=1 / DELTA)
