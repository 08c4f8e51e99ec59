"""This project's trackers in the toolkit: each has one identifier and one network."""
from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from ltr.errors import UserError
from pytracking.evaluation.reference import TrackerReference, TrackerReferenceError
from pytracking.evaluation.tracker import Tracker
from pytracking.tracker.base import BaseTracker


class TrackerSpecError(UserError):
    """A tracker cannot be used; the message says why."""


@dataclass(frozen=True)
class TrackerSpec:
    """A tracker, its parameters, and the network of all its results in a workspace."""

    name: str
    parameter: str
    network: str | None = None  # None: it needs none
    other_network: bool = False  # whether it is not the network that the parameters name, e.g. the bundled one

    @classmethod
    def parse(cls, text: str) -> TrackerSpec:
        """Parses ``tracker/parameter[@network]`` and finds the network; TrackerSpecError if it cannot run."""
        try:
            reference = TrackerReference.parse(text)
        except TrackerReferenceError as error:
            raise TrackerSpecError(str(error)) from error
        if reference.run is not None:
            raise TrackerSpecError(f"tracker '{text}': the toolkit numbers the runs; leave out #{reference.run}")
        name, parameter, network = reference.tracker, reference.parameters, reference.network
        tracker = Tracker(name, parameter, network=network)
        if not tracker.runnable:
            raise TrackerSpecError(f"tracker '{text}' has results but no code here, so it cannot run")
        found = tracker.weights.name
        if network is not None and Path(network).parent.name:  # a path; trackers are started in another folder
            found = str(tracker.weights.file.resolve())
        return cls(name, parameter, found, tracker.weights.fallback)

    @property
    def label(self) -> str:
        """Its name in tables, with the network if that is not the parameters' own."""
        return f"{self.name}:{self.parameter}" + (f"@{Path(self.network).stem}" if self.other_network else "")

    @property
    def identifier(self) -> str:
        """Its name in the toolkit (letters, digits, ``-`` and ``_`` only)."""
        return re.sub(r"[^a-zA-Z0-9_-]", "-", self.label)

    def load(self) -> BaseTracker:
        """Loads the tracker with the registered network, even if another has been installed since."""
        return Tracker(self.name, self.parameter, network=self.network).create_tracker()
