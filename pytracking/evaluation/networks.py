"""Finds the network file that a tracker runs on, and reads its recommendations for the tracker's parameters."""
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ltr.checkpoint import CheckpointError, read_checkpoint
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
    fallback: bool = False  # whether it is not the parameter file's: a fallback, or the user's choice

    @property
    def name(self) -> str | None:
        """The file's name without its suffix."""
        return self.file.stem if self.file else None


def find_network(params: TrackerParams, label: str, network: str | None = None, strict: bool = False) -> Weights:
    """Finds the network for parameters (see ``resolve_parameters``); MissingWeightsError if it is not installed."""
    set_by_user = params.provenance.get("weights") == "user"
    if network is not None and set_by_user:
        raise UserError(f"{label}: two networks were given, '{network}' and weights='{params.weights}'; give only one")
    if params.weights is None and params.fallback_weights is None:
        if network is not None:
            raise UserError(f"{label} uses no network, but '{network}' was given")
        return Weights(None)
    requested = params.weights if set_by_user else network
    file = _find(params.weights if requested is None else requested)
    if file is not None:
        return Weights(file, fallback=requested is not None)
    if requested is not None:
        bundled = ", ".join(path.stem for path in bundled_networks())
        raise MissingWeightsError(f"{label}: network '{requested}' is neither in {_folder()} nor bundled ({bundled})")
    return _fallback(params, label, strict, set_by_user)


def recommendations(network_file: Path) -> dict[str, Any]:
    """Reads a network's recommendations for its tracker's parameters, without loading the tensors.

    Empty for files that are not checkpoints of this package; the tracker reports what is wrong with them.
    """
    try:
        return read_checkpoint(network_file, tensors=False).metadata.get("tracker", {})
    except CheckpointError:
        return {}


def _fallback(params: TrackerParams, label: str, strict: bool, set_by_user: bool) -> Weights:
    missing = f"{label}: network '{params.weights}' is not in {_folder()}"
    remedy = "`pytracking weights` says where to get it"
    fallback = _find(params.fallback_weights)
    if fallback is None and params.provenance.get("fallback_weights") == "user":
        raise MissingWeightsError(f"{missing}, nor is fallback_weights='{params.fallback_weights}'")
    if fallback is None or (strict and params.weights):
        raise MissingWeightsError(f"{missing}; {remedy}")
    if params.weights is None:
        return Weights(fallback, fallback=set_by_user)
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
