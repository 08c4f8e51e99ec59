"""What a network's file recommends to the trackers that run on it, ``metadata["tracker"]``."""
from __future__ import annotations

from dataclasses import MISSING, fields, replace
from typing import Any, TypeVar

from pytracking.tracker.base import TrackerParams

Params = TypeVar("Params", bound=TrackerParams)


def with_recommendations(params: Params, recommended: dict[str, Any]) -> Params:
    """The parameters with a network's recommendations wherever they have the value that their class gives them.

    Parameters that a user gave by name (``params.stated``) stay, whatever their value.

    Raises:
        AttributeError: if a recommendation names a parameter that does not exist.
    """
    known = {each.name: each for each in fields(params)}
    unknown = sorted(set(recommended) - set(known))
    if unknown:
        raise AttributeError(
            f"the network {params.network_file or ''} recommends tracker parameters {unknown}, "
            f"which {type(params).__name__} does not have"
        )
    unset = {name for name, each in known.items() if getattr(params, name) == _default(each)} - {*params.stated}
    return replace(params, **{name: value for name, value in recommended.items() if name in unset})


def _default(parameter: Any) -> Any:
    return parameter.default if parameter.default_factory is MISSING else parameter.default_factory()
