"""Which network file a tracker runs on, and what that file recommends for the tracker's parameters."""
from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ltr.errors import UserError
from ltr.weights import bundled_networks, find_weights
from pytracking.evaluation.environment import env_settings
from pytracking.tracker.base import TrackerParams
from pytracking.utils.notices import Notice


class MissingWeightsError(UserError, FileNotFoundError):
    """A tracker's network is not on this machine."""


class FallbackWeightsWarning(Notice):
    """A tracker runs on a bundled network because the paper's is not on this machine."""


@dataclass(frozen=True)
class Weights:
    """The network that a tracker runs on."""

    file: Path | None  # None: the tracker needs no network
    fallback: bool = False  # whether it differs from the parameter file's: a fallback, or the user's choice

    @property
    def name(self) -> str | None:
        """The file's name without its suffix."""
        return self.file.stem if self.file else None


def find_network(params: TrackerParams, label: str, network: str | None = None, strict: bool = False) -> Weights:
    """The network that parameters lead to, see ``resolve_parameters``; MissingWeightsError if it is not here."""
    stated_by_user = params.provenance.get("weights") == "user"
    if network is not None and stated_by_user:
        raise UserError(f"{label}: two networks are asked for, '{network}' and weights='{params.weights}'; give one")
    if params.weights is None and params.fallback_weights is None:
        if network is not None:
            raise UserError(f"{label} takes no network, but '{network}' was asked for")
        return Weights(None)
    asked_for = params.weights if stated_by_user else network
    file = _find(params.weights if asked_for is None else asked_for)
    if file is not None:
        return Weights(file, fallback=asked_for is not None)
    if asked_for is not None:
        bundled = ", ".join(path.stem for path in bundled_networks())
        raise MissingWeightsError(f"{label}: network '{asked_for}' is not in {_folder()}, nor bundled ({bundled})")
    return _stand_in(params, label, strict, stated_by_user)


def recommendations(network_file: Path) -> dict[str, Any]:
    """What a network recommends for its tracker's parameters, read without the network's tensors.

    Empty for files that are not checkpoints of this package; the tracker reports what is wrong with them.
    """
    from ltr.checkpoint import CheckpointError, read_checkpoint  # here because some trackers work without ltr

    try:
        return read_checkpoint(network_file, tensors=False).metadata.get("tracker", {})
    except CheckpointError:
        return {}


def _stand_in(params: TrackerParams, label: str, strict: bool, stated_by_user: bool) -> Weights:
    missing = f"{label}: network '{params.weights}' is not in {_folder()}"
    remedy = "`pytracking weights` says where to get it"
    if params.provenance.get("fallback_weights") == "user" and _find(params.fallback_weights) is None:
        raise MissingWeightsError(f"{missing}, nor is fallback_weights='{params.fallback_weights}'")
    fallback = _find(params.fallback_weights)
    if fallback is None or (strict and params.weights):
        raise MissingWeightsError(f"{missing}; {remedy}")
    if params.weights is None:
        return Weights(fallback, fallback=stated_by_user)
    warnings.warn(
        f"{missing}; running on the bundled network '{fallback.stem}' instead ({remedy})",
        FallbackWeightsWarning,
        stacklevel=6,
    )
    return Weights(fallback, fallback=True)


def _find(name: str | None) -> Path | None:
    return find_weights(name, [_folder()]) if name else None


def _folder() -> Path:
    return env_settings().network_path
