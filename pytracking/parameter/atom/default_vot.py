"""ATOM as published for VOT 2018."""
from pytracking.tracker.atom.params import ATOM_VOT, AtomParams


def parameters() -> AtomParams:
    return AtomParams(**ATOM_VOT)
