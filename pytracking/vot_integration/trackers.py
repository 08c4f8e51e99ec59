"""Trackers of this project as the toolkit knows them: by one identifier, on one network."""
from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from ltr.errors import UserError
from pytracking.evaluation.reference import TrackerReference, TrackerReferenceError
from pytracking.evaluation.tracker import Tracker
from pytracking.tracker.base import BaseTracker


class TrackerSpecError(UserError):
    """A tracker that cannot take part; the message says why."""


@dataclass(frozen=True)
class TrackerSpec:
    """A tracker, its parameters, and the network that all its results in a workspace come from."""

    name: str
    parameter: str
    network: str | None = None  # None: it needs none
    other_network: bool = False  # whether the network is another than the parameters name, e.g. the bundled one

    @classmethod
    def parse(cls, text: str) -> TrackerSpec:
        """Reads ``tracker/parameter[@network]`` and finds the network; TrackerSpecError if TraX cannot run it."""
        try:
            reference = TrackerReference.parse(text)
        except TrackerReferenceError as error:
            raise TrackerSpecError(str(error)) from error
        if reference.run is not None:
            raise TrackerSpecError(f"tracker '{text}': the toolkit numbers the runs; leave out #{reference.run}")
        name, parameter, network = reference.tracker, reference.parameters, reference.network
        tracker = Tracker(name, parameter, network=network)
        if not tracker.runnable:
            raise TrackerSpecError(f"tracker '{text}' has results here but no code, so that it cannot run")
        pinned = tracker.weights.name
        if network is not None and Path(network).parent.name:  # a path; trackers are started in another folder
            pinned = str(tracker.weights.file.resolve())
        return cls(name, parameter, pinned, tracker.weights.fallback)

    @property
    def label(self) -> str:
        """What tables call it; it names the network where that is not the one of the parameters."""
        return f"{self.name}:{self.parameter}" + (f"@{Path(self.network).stem}" if self.other_network else "")

    @property
    def identifier(self) -> str:
        """What the toolkit calls it (letters, digits, ``-`` and ``_`` only)."""
        return re.sub(r"[^a-zA-Z0-9_-]", "-", self.label)

    def load(self) -> BaseTracker:
        """The tracker with its network, which is the registered one even where a better one has come since."""
        return Tracker(self.name, self.parameter, network=self.network).create_tracker()
