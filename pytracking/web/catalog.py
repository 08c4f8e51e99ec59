"""The trackers that the page offers: recommended ones first, and for each whether it can run here."""
import threading
import warnings
from dataclasses import fields
from functools import cached_property
from typing import Any

from ltr.errors import UserError
from pytracking.evaluation.discovery import parameter_names, tracker_names
from pytracking.evaluation.handle import TrackerHandle
from pytracking.evaluation.networks import FallbackWeightsWarning, MissingWeightsError
from pytracking.evaluation.tracker import Tracker
from pytracking.web.security import without_paths
from pytracking.web.settings import WebSettings

NEEDS_ANNOTATIONS = ("oracle",)  # which a user's video does not have
# name: title, description
RECOMMENDED = {
    "rls_dimp/default": ("RLS-DiMP", "Learns the target as it goes, and keeps what it has learned. Start here."),
    "dimp/dimp50": ("DiMP", "The same network; learns by steepest descent from recent samples."),
    "dimp/bgd": ("BGD-DiMP", "Plain gradient descent on the same network: the baseline that RLS improves."),
    "rls_rtmdnet/default": ("RLS-RTMDNet", "Scores candidate boxes with a small network; keeps what it has learned."),
    "opencv/csrt": ("CSRT", "OpenCV's correlation filter. No network, no learned features."),
}


class Catalog:
    """The trackers offered under these settings."""

    def __init__(self, settings: WebSettings) -> None:
        self._settings = settings
        self._reasons: dict[str, str | None] = {}
        self._lock = threading.Lock()  # catch_warnings is not thread-safe

    @cached_property
    def _names(self) -> tuple[str, ...]:
        names = self._settings.trackers or [
            f"{name}/{parameter}"
            for name in tracker_names()
            if name not in NEEDS_ANNOTATIONS
            for parameter in parameter_names(name)
        ]
        first = [name for name in RECOMMENDED if name in names]
        return (*first, *(name for name in names if name not in first))

    def public(self) -> dict:
        """Describes the trackers to the page."""
        offers = [self._offer(name) for name in self._names]
        return {"trackers": offers, "default": self._settings.default_tracker}

    def problem(self, name: str) -> str | None:
        """Returns why a tracker cannot be used; None if it can."""
        if name not in self._names:
            return f"there is no tracker '{name}'"
        reason = self._offer(name)["reason"]
        return None if reason is None else f"{name} cannot run here: {reason}"

    def _offer(self, name: str) -> dict[str, Any]:
        """Describes a tracker to the page; ``reason`` is why it cannot run here, or None."""
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
            warnings.simplefilter("ignore", FallbackWeightsWarning)  # the page shows each run's network
            spec = Tracker(tracker, parameter)
            if spec.weights.file is None or tracker == "opencv":
                spec.create_tracker()  # cheap: there is no network to load
    except MissingWeightsError as error:
        return without_paths(str(error)).partition(": ")[2]
    except (UserError, OSError) as error:
        return without_paths(str(error))
    return None


def load_tracker(name: str) -> TrackerHandle:
    """Loads a tracker by ``tracker/parameter`` and enables its score map and ``past_margin`` output, if it has them."""
    tracker, _, parameter = name.partition("/")
    existing = {field.name for field in fields(Tracker(tracker, parameter).get_parameters())}
    overrides = dict.fromkeys({"output_score_map", "output_past_margin"} & existing, True)
    return TrackerHandle(tracker, parameter, overrides=overrides)
