"""The trackers that the page offers: a few to start with, the rest, and why some of them cannot run here."""
from __future__ import annotations

import threading
import warnings
from dataclasses import fields
from functools import lru_cache
from typing import Any

from ltr.errors import UserError
from pytracking.evaluation.discovery import parameter_names, tracker_names
from pytracking.evaluation.handle import TrackerHandle
from pytracking.evaluation.networks import FallbackWeightsWarning, MissingWeightsError
from pytracking.evaluation.tracker import Tracker
from pytracking.web.security import without_paths
from pytracking.web.settings import WebSettings

NEEDS_ANSWERS = ("oracle",)  # looks at annotations, which a user's video does not have
# name: title, one line
RECOMMENDED = {
    "rls_dimp/default": ("RLS-DiMP", "Learns the target as it goes, and keeps what it has learned. Start here."),
    "dimp/dimp50": ("DiMP", "The same network; learns by steepest descent from recent samples."),
    "dimp/bgd": ("BGD-DiMP", "Plain gradient descent on the same network: the baseline that RLS improves."),
    "rls_rtmdnet/default": ("RLS-RTMDNet", "Scores candidate boxes with a small network; keeps what it has learned."),
    "opencv/csrt": ("CSRT", "OpenCV's correlation filter. No network, no learned features."),
}


class Catalog:
    """What is offered under these settings."""

    def __init__(self, settings: WebSettings) -> None:
        self._settings = settings
        self._names = lru_cache(maxsize=1)(self._find_names)
        self._reasons: dict[str, str | None] = {}
        self._lock = threading.Lock()  # silencing warnings is not made for several threads

    def _find_names(self) -> tuple[str, ...]:
        names = self._settings.trackers or [
            f"{name}/{parameter}"
            for name in tracker_names()
            if name not in NEEDS_ANSWERS
            for parameter in parameter_names(name)
        ]
        first = [name for name in RECOMMENDED if name in names]
        return (*first, *(name for name in names if name not in first))

    def public(self) -> dict:
        """For the page."""
        offers = [self._offer(name) for name in self._names()]
        return {"trackers": offers, "default": self._settings.default_tracker}

    def problem(self, name: str) -> str | None:
        """Why a tracker cannot be used; None if it can."""
        if name not in self._names():
            return f"there is no tracker '{name}'"
        reason = self._offer(name)["reason"]
        return None if reason is None else f"{name} cannot run here: {reason}"

    def _offer(self, name: str) -> dict[str, Any]:
        """One tracker as the page shows it; ``reason`` says why it cannot run here."""
        title, line = RECOMMENDED.get(name, (name, ""))
        with self._lock:
            if name not in self._reasons:
                self._reasons[name] = _reason(name)
            reason = self._reasons[name]
        return {"name": name, "title": title, "line": line, "recommended": name in RECOMMENDED, "reason": reason}


def _reason(name: str) -> str | None:
    tracker, _, parameter = name.partition("/")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FallbackWeightsWarning)  # the page names the network of each run
            spec = Tracker(tracker, parameter)
            if spec.weights.file is None or tracker == "opencv":
                spec.create_tracker()  # cheap: there is no network to load
    except MissingWeightsError as error:
        return without_paths(str(error)).partition(": ")[2]
    except (UserError, OSError) as error:
        return without_paths(str(error))
    return None


def load_tracker(name: str) -> TrackerHandle:
    """A tracker by ``tracker/parameter``, with its score map and its margin on the past where it has them."""
    tracker, _, parameter = name.partition("/")
    existing = {field.name for field in fields(Tracker(tracker, parameter).get_parameters())}
    overrides = dict.fromkeys({"output_score_map", "output_past_margin"} & existing, True)
    return TrackerHandle(tracker, parameter, overrides=overrides)
