"""The one place where a tracker's parameters and network are decided, before anything is recorded or made.

The parameter file comes first, then what a user states in its place, then the network that both lead to, then what that
network recommends for parameters that neither file nor user has stated.
"""
from __future__ import annotations

import warnings
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from pytracking.evaluation.environment import env_settings
from pytracking.tracker.base import TrackerParams, with_recommendations, with_values
from pytracking.utils.names import unknown_name_message
from pytracking.utils.notices import Notice

NOT_SETTABLE = {"provenance": "it is kept by itself", "network_file": "give --network, or set weights"}


class UnknownParameterError(AttributeError, ValueError):
    """A parameter that a tracker does not have."""


class MissingWeightsError(FileNotFoundError):
    """A tracker's network is not on this machine."""


class FallbackWeightsWarning(Notice):
    """A tracker runs on a bundled network because the paper's is not on this machine."""


@dataclass(frozen=True)
class Weights:
    """The network that a tracker runs on."""

    file: Path | None  # None: the tracker needs no network
    fallback: bool = False  # whether it is another than the parameter file names: a stand-in, or one asked for

    @property
    def name(self) -> str | None:
        """The file's name without its suffix."""
        return self.file.stem if self.file else None


def resolve_parameters(
    params: TrackerParams,
    label: str,
    *,
    overrides: dict[str, Any] | None = None,
    network: str | None = None,
    strict_weights: bool = False,
) -> tuple[TrackerParams, Weights]:
    """What really runs.

    Args:
        params: of the parameter file.
        label: ``tracker/parameter``, for messages.
        overrides: parameters that a user states.
        network: that a user asks for in place of the parameters' ``weights``.
        strict_weights: raise where the parameters' network is missing, instead of taking their fallback.

    Raises:
        UnknownParameterError: if an override names a parameter that does not exist.
        MissingWeightsError: if the network is not on this machine.
    """
    params = _with_overrides(params, label, overrides or {})
    weights = _find_network(params, label, network, strict_weights)
    chosen_by = "user" if network is not None else params.provenance.get("weights", "file")
    if weights.file is not None:
        params = with_values(params, {"network_file": weights.file}, chosen_by)
        params = with_recommendations(params, recommendations(weights.file))
    return params, weights


def recommendations(network_file: Path) -> dict[str, Any]:
    """What a network recommends for its tracker's parameters, read without the network's tensors.

    Nothing for files that are not checkpoints of this package; what else may be wrong with them, the tracker says.
    """
    from ltr.checkpoint import CheckpointError, read_checkpoint  # here because some trackers work without ltr

    try:
        return read_checkpoint(network_file, tensors=False).metadata.get("tracker", {})
    except CheckpointError:
        return {}


def _with_overrides(params: TrackerParams, label: str, overrides: dict[str, Any]) -> TrackerParams:
    existing = {field.name for field in fields(params)} - set(NOT_SETTABLE)
    for name in overrides:
        if name in NOT_SETTABLE:
            raise UnknownParameterError(f"{label}: '{name}' cannot be set: {NOT_SETTABLE[name]}")
        if name not in existing:
            raise UnknownParameterError(unknown_name_message(f"parameter of '{label}' called", name, existing))
    return with_values(params, overrides, "user")


def _find_network(params: TrackerParams, label: str, network: str | None, strict: bool) -> Weights:
    stated_by_user = params.provenance.get("weights") == "user"
    if network is not None and stated_by_user:
        raise ValueError(f"{label}: two networks are asked for, '{network}' and weights='{params.weights}'; give one")
    if params.weights is None and params.fallback_weights is None:
        if network is not None:
            raise ValueError(f"{label} takes no network, but '{network}' was asked for")
        return Weights(None)
    asked_for = params.weights if stated_by_user else network
    if asked_for is not None:
        file = _find(asked_for)
        if file is None:
            missing = f"{label}: network '{asked_for}' is not in {_folder()}"
            raise MissingWeightsError(f"{missing}, nor bundled ({_bundled()})")
        return Weights(file, fallback=True)
    file = _find(params.weights)
    return Weights(file) if file is not None else _stand_in(params, label, strict, stated_by_user)


def _stand_in(params: TrackerParams, label: str, strict: bool, stated_by_user: bool) -> Weights:
    missing = f"{label}: network '{params.weights}' is not in {_folder()}"
    remedy = "`python -m pytracking weights` says where to get it"
    if params.weights and params.weights.endswith(".onnx"):
        remedy = "it is in OpenCV's model zoo; put it there, or set network_path (docs/running.md)"
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
    from ltr.weights import find_weights  # here because trackers without a network work without ltr

    return find_weights(name, [_folder()]) if name else None


def _bundled() -> str:
    from ltr.weights import bundled_networks

    return ", ".join(path.stem for path in bundled_networks())


def _folder() -> Path:
    return env_settings().network_path
