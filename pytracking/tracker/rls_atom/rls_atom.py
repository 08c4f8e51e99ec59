"""RLS-ATOM: ATOM with RLS-DiMP's learner."""
from pytracking.tracker.atom.atom import AtomTracker
from pytracking.tracker.dimp.learner import OnlineLearner
from pytracking.tracker.rls_atom.params import RLSAtomParams
from pytracking.tracker.rls_dimp.rls_dimp import make_rls_learner


class RLSAtomTracker(AtomTracker):
    """ATOM with recursive least squares in the update stage."""

    params: RLSAtomParams

    def make_learner(self) -> OnlineLearner:
        return make_rls_learner(self.params)
