"""Parameters of RLS-ATOM: ATOM's, and those of recursive least squares."""
from __future__ import annotations

from dataclasses import dataclass, field

from pytracking.tracker.atom.params import AtomClassifier
from pytracking.tracker.rls_dimp.params import RLSDimpParams


@dataclass(kw_only=True, slots=True)
class RLSAtomParams(RLSDimpParams):
    """RLS-ATOM's; ATOM's published values are in :data:`pytracking.tracker.atom.params.ATOM`."""

    p_memory_mib: float | None = 1.5  # 160 directions of ATOM's small filter, 1600 frames at the regular schedule
    classifier: AtomClassifier = field(default_factory=AtomClassifier)
