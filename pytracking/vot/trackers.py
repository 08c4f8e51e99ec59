"""Trackers of this project as the toolkit knows them: by one identifier, on one network."""
from __future__ import annotations

import re
from dataclasses import dataclass

from pytracking.evaluation.tracker import Tracker
from pytracking.tracker.base import BaseTracker


class TrackerSpecError(ValueError):
    """A tracker that cannot take part; the message says why."""


@dataclass(frozen=True)
class TrackerSpec:
    """A tracker, its parameters and the network that it ran on when it was registered."""

    name: str
    parameter: str
    network: str | None = None  # None: it needs none
    fallback: bool = False  # whether the network is the bundled stand-in for the paper's

    @classmethod
    def parse(cls, text: str) -> TrackerSpec:
        """Reads ``tracker:parameter`` and looks up the network.

        Raises:
            TrackerSpecError: if the text has another form, or the tracker cannot run behind TraX.
            UnknownTrackerError, MissingWeightsError: naming what is missing.
        """
        name, colon, parameter = text.partition(":")
        if not (name and colon and parameter):
            raise TrackerSpecError(f"tracker '{text}': expected TRACKER:PARAMETER, e.g. rls_dimp:vot18")
        tracker = Tracker(name, parameter)
        if not tracker.runnable:
            raise TrackerSpecError(f"tracker '{text}' has results here but no code, so that it cannot run")
        return cls(name, parameter, tracker.weights.name, tracker.weights.fallback)

    @property
    def label(self) -> str:
        """What tables call it; it names the network where that is not the paper's."""
        return f"{self.name}:{self.parameter}" + (f"@{self.network}" if self.fallback else "")

    @property
    def identifier(self) -> str:
        """What the toolkit calls it (letters, digits, ``-`` and ``_`` only)."""
        return re.sub(r"[^a-zA-Z0-9_-]", "-", self.label)

    def load(self) -> BaseTracker:
        """The tracker, with its network loaded.

        Raises:
            TrackerSpecError: if it would now run on another network than the results it adds to.
        """
        tracker = Tracker(self.name, self.parameter)
        if tracker.weights.name != self.network:
            raise TrackerSpecError(
                f"'{self.label}' was registered with the network '{self.network}', but finds '{tracker.weights.name}' "
                f"now; register it again: python -m pytracking vot init DIR --trackers {self.name}:{self.parameter}"
            )
        return tracker.create_tracker()
