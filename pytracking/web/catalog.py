"""The trackers that the page offers: a few to start with, the rest, and why some of them cannot run here."""
from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass, fields
from functools import lru_cache

from pytracking.evaluation.handle import TrackerHandle
from pytracking.evaluation.tracker import (
    FallbackWeightsWarning,
    MissingWeightsError,
    Tracker,
    parameter_names,
    tracker_names,
)
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


@dataclass(frozen=True)
class Offer:
    """One tracker as the page shows it."""

    name: str
    title: str
    line: str
    recommended: bool
    reason: str | None  # why it cannot run here


class Catalog:
    """What is offered under these settings."""

    def __init__(self, settings: WebSettings) -> None:
        self._settings = settings
        self.offers = lru_cache(maxsize=1)(self._offers)

    def _offers(self) -> tuple[Offer, ...]:
        names = self._settings.trackers or [
            f"{name}/{parameter}"
            for name in tracker_names()
            if name not in NEEDS_ANSWERS
            for parameter in parameter_names(name)
        ]
        first = [name for name in RECOMMENDED if name in names]
        return tuple(_offer(name) for name in [*first, *(name for name in names if name not in first)])

    def public(self) -> dict:
        """For the page."""
        return {"trackers": [asdict(offer) for offer in self.offers()], "default": self._settings.default_tracker}

    def problem(self, name: str) -> str | None:
        """Why a tracker cannot be used; None if it can."""
        offer = next((offer for offer in self.offers() if offer.name == name), None)
        if offer is None:
            return f"there is no tracker '{name}'"
        return None if offer.reason is None else f"{name} cannot run here: {offer.reason}"


def _offer(name: str) -> Offer:
    title, line = RECOMMENDED.get(name, (name, ""))
    return Offer(name, title, line, name in RECOMMENDED, _reason(name))


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
    except (ImportError, OSError, ValueError) as error:
        return without_paths(str(error))
    return None


def load_tracker(name: str) -> TrackerHandle:
    """A tracker by ``tracker/parameter``, with its score map where it has one."""
    tracker, _, parameter = name.partition("/")
    existing = {field.name for field in fields(Tracker(tracker, parameter).get_parameters())}
    overrides = {"output_score_map": True} if "output_score_map" in existing else {}
    return TrackerHandle(tracker, parameter, overrides=overrides)
