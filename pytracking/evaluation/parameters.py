"""The one place where a tracker's parameters and network are decided, before anything is recorded or made.

The parameter file comes first, then the values that a user gives, then the network that both lead to, then what that
network recommends for parameters that neither file nor user has set.
"""
from __future__ import annotations

import copy
from dataclasses import fields, is_dataclass
from typing import Any, Literal, get_args, get_origin, get_type_hints

import torch

from ltr.errors import UserError
from pytracking.evaluation.networks import Weights, find_network, recommendations
from pytracking.tracker.base import TrackerParams, with_recommendations, with_values
from pytracking.utils.names import unknown_name_message

SENSES = {  # what is called so elsewhere; letters alone would lead to DiMP's learning_rate, the weight of a new sample
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
NOT_SETTABLE = {"provenance": "it is kept by itself", "network_file": "give --network, or set weights"}


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
    """What really runs. Parameters written for pytracking are a bag of attributes, and load their network themselves.

    Args:
        label: ``tracker/parameter``, for messages.
        network: that a user asks for in place of the parameters' ``weights``.
        strict_weights: raise where the parameters' network is missing, instead of taking their fallback.
    """
    if not is_dataclass(params):
        return _resolve_bag(params, label, overrides or {}, network), Weights(None)
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
        present = getattr(params, name)
        if isinstance(value, str) and isinstance(present, (int, float)):
            raise UserError(f"{label}: {name} must be a number (or True or False), as {present!r} is; got {value!r}")
        choices = _choices(params, name)
        if choices and value not in choices:
            raise UserError(f"{label}: {name} must be one of {', '.join(map(repr, choices))}; got {value!r}")
    return with_values(params, overrides, "user")


def _choices(params: TrackerParams, name: str) -> tuple[Any, ...]:
    """The values that a parameter can have, where its annotation lists them."""
    try:
        kind = get_type_hints(type(params))[name]
    except NameError:  # annotations of somebody's own tracker that cannot be looked up
        return ()
    return get_args(kind) if get_origin(kind) is Literal else ()


def parameter_values(params: Any) -> dict[str, Any]:
    """Parameters by name, of a dataclass or of a bag of attributes."""
    if not is_dataclass(params):
        return dict(vars(params))
    return {field.name: getattr(params, field.name) for field in fields(params) if field.name != "provenance"}


def _resolve_bag(params: Any, label: str, overrides: dict[str, Any], network: str | None) -> Any:
    if network is not None:
        raise UserError(f"{label}: its parameter file names the network itself, so '{network}' cannot take its place")
    params = copy.copy(params)
    for name, value in {"debug": 0, "visualization": False}.items():  # pytracking sets these from outside
        if not hasattr(params, name):
            setattr(params, name, value)
    for name, value in overrides.items():
        setattr(params, name, value)
    if getattr(params, "use_gpu", False) and not torch.cuda.is_available():
        params.use_gpu = False
    return params
