"""ATOM as published."""
from pytracking.tracker.atom.params import ATOM, AtomParams


def parameters() -> AtomParams:
    return AtomParams(**ATOM)
