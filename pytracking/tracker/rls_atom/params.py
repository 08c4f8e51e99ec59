"""Parameters of RLS-ATOM: ATOM's, and those of recursive least squares."""
from dataclasses import dataclass, field

from pytracking.tracker.atom.params import AtomClassifier
from pytracking.tracker.rls_dimp.params import RLSDimpParams


@dataclass(kw_only=True, slots=True)
class RLSAtomParams(RLSDimpParams):
    """Parameters of RLS-ATOM; :data:`pytracking.tracker.atom.params.ATOM` holds ATOM's published values."""

    p_memory_mib: float | None = 1.5  # 160 directions of ATOM's small filter: 1600 frames of the regular schedule
    classifier: AtomClassifier = field(default_factory=AtomClassifier)
