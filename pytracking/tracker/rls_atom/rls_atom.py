"""RLS-ATOM: ATOM with RLS-DiMP's learner, and nothing else."""
from __future__ import annotations

from pytracking.tracker.atom.atom import AtomTracker
from pytracking.tracker.dimp.learner import OnlineLearner
from pytracking.tracker.rls_atom.params import RlsAtomParams
from pytracking.tracker.rls_dimp.rls_dimp import make_rls_learner


class RlsAtomTracker(AtomTracker):
    """ATOM with recursive least squares in the update stage."""

    params: RlsAtomParams

    def make_learner(self) -> OnlineLearner:
        return make_rls_learner(self.params)
