"""Decides a tracker's parameters and network, before anything is recorded or created.

In this order: the parameter file's values, the user's overrides, the network that these select, and that network's
recommendations for parameters that neither the file nor the user has set.
"""
import copy
from dataclasses import fields, is_dataclass
from typing import Any, Literal, get_args, get_origin, get_type_hints

import torch

from ltr.errors import UserError
from pytracking.evaluation.networks import Weights, find_network, recommendations
from pytracking.tracker.base import TrackerParams, with_recommendations, with_values
from pytracking.utils.names import unknown_name_message

# Names used elsewhere -> ours. By its letters, "lr" would suggest DiMP's learning_rate, the weight of a new sample.
SENSES = {
    "lr": "step_length",
    "rate": "step_length",
    "step_size": "step_length",
    "forgetting": "beta",
    "forgetting_factor": "beta",
    "lambda": "beta",
    "p0": "delta",
    "iterations": "net_opt_update_iter",
    "update_iterations": "net_opt_update_iter",
    "update_interval": "train_skipping",
    "threshold": "target_not_found_threshold",
    "search_size": "image_sample_size",
    "search_area": "search_area_scale",
    "weight_decay": "regularisation",
    "gpu": "device",
}
NOT_SETTABLE = {"provenance": "it is recorded automatically", "network_file": "use --network, or set weights"}


class UnknownParameterError(UserError, AttributeError):
    """A parameter that a tracker does not have."""


def resolve_parameters(
    params: TrackerParams,
    label: str,
    *,
    overrides: dict[str, Any] | None = None,
    network: str | None = None,
    strict_weights: bool = False,
) -> tuple[TrackerParams, Weights]:
    """Returns the parameters and the network that will run.

    Parameters written for pytracking, a plain object with attributes, load their network themselves.

    Args:
        label: ``tracker/parameter``, for messages.
        network: requested by the user instead of the parameters' ``weights``.
        strict_weights: raise if the parameters' network is missing, instead of using their fallback.
    """
    if not is_dataclass(params):
        return _resolve_upstream(params, label, overrides or {}, network), Weights(None)
    params = _with_overrides(params, label, overrides or {})
    weights = find_network(params, label, network, strict_weights)
    chosen_by = "user" if network is not None else params.provenance.get("weights", "file")
    if weights.file is not None:
        params = with_values(params, {"network_file": weights.file}, chosen_by)
        params = with_recommendations(params, recommendations(weights.file))
    return params, weights


def _with_overrides(params: TrackerParams, label: str, overrides: dict[str, Any]) -> TrackerParams:
    existing = {field.name for field in fields(params)} - set(NOT_SETTABLE)
    for name, value in overrides.items():
        if name in NOT_SETTABLE:
            raise UnknownParameterError(f"{label}: '{name}' cannot be set: {NOT_SETTABLE[name]}")
        if name not in existing:
            kind = f"parameter of '{label}' called"
            raise UnknownParameterError(unknown_name_message(kind, name, existing, senses=SENSES))
        current = getattr(params, name)
        if isinstance(value, str) and isinstance(current, (int, float)):
            raise UserError(f"{label}: {name} must be a number (or True or False) like {current!r}; got {value!r}")
        choices = _choices(params, name)
        if choices and value not in choices:
            raise UserError(f"{label}: {name} must be one of {', '.join(map(repr, choices))}; got {value!r}")
    return with_values(params, overrides, "user")


def _choices(params: TrackerParams, name: str) -> tuple[Any, ...]:
    """The values that a parameter can have, if its annotation lists them."""
    try:
        kind = get_type_hints(type(params))[name]
    except NameError:  # annotations of a user's tracker that cannot be resolved
        return ()
    return get_args(kind) if get_origin(kind) is Literal else ()


def parameter_values(params: Any) -> dict[str, Any]:
    """Parameters by name, from a dataclass or from a plain object with attributes."""
    if not is_dataclass(params):
        return dict(vars(params))
    return {field.name: getattr(params, field.name) for field in fields(params) if field.name != "provenance"}


def _resolve_upstream(params: Any, label: str, overrides: dict[str, Any], network: str | None) -> Any:
    if network is not None:
        raise UserError(f"{label}: the parameter file loads its own network, so '{network}' cannot replace it")
    params = copy.copy(params)
    for name, value in {"debug": 0, "visualization": False}.items():  # pytracking sets these from outside
        if not hasattr(params, name):
            setattr(params, name, value)
    for name, value in overrides.items():
        setattr(params, name, value)
    if getattr(params, "use_gpu", False) and not torch.cuda.is_available():
        params.use_gpu = False
    return params
