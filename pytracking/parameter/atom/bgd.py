"""ATOM with gradient descent in the update stage: RLS-ATOM without its memory, at the same learning rate."""
from pytracking.tracker.atom.params import ATOM_BGD, AtomParams


def parameters() -> AtomParams:
    return AtomParams(**ATOM_BGD)
