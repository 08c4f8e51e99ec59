"""Lets workers, which import by name, load trackers of :mod:`tests.vot.miniature`."""
from pytracking.tracker.base import TrackerParams
from pytracking.vot_integration import execution
from tests.vot import miniature


class KindSpec:
    """Stands in for a :class:`TrackerSpec`."""

    def __init__(self, kind: str) -> None:
        self.kind = self.label = kind

    def load(self):
        return miniature.KINDS[self.kind](TrackerParams())


class KindsTaskRunner(execution.VotTaskRunner):
    """Takes every registered tracker for one of ``KINDS``."""

    def run(self, task, progress=None):
        execution.registered_spec = lambda tracker: KindSpec(tracker.identifier)
        return super().run(task, progress)
