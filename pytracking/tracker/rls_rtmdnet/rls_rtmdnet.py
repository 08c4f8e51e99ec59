"""The RLS-RTMDNet tracker: RT-MDNet with another online learner."""
from pytracking.tracker.rls_rtmdnet.rls_learner import RLSHeadLearner
from pytracking.tracker.rtmdnet.rtmdnet import RtmdnetTracker


class RLSRtmdnetTracker(RtmdnetTracker):
    """Algorithm 1: initial and regular learning by RLS, weights backed up around occasional updates."""

    learner_class = RLSHeadLearner
