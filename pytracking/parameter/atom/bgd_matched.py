"""ATOM with gradient descent at RLS-ATOM's step length: the control that separates memory from step length."""
from pytracking.tracker.atom.params import ATOM_BGD, AtomParams

DELTA = 0.1  # of RLS-ATOM, divided by ATOM_CURVATURE


def parameters() -> AtomParams:
    return AtomParams(**ATOM_BGD, step_factor=1 / DELTA)
