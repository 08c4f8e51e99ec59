"""Parameters as a bag of attributes, and parameters by feature."""
from __future__ import annotations

import random
from typing import Any

from pytracking.compat.tensorlist import TensorList


class TrackerParams:
    """Any attributes; used wherever this project's dataclasses of parameters are."""

    def __init__(self, **values: Any) -> None:
        vars(self).update(values)

    def set_default_values(self, default_vals: dict[str, Any]) -> None:
        """Sets what is not there yet."""
        vars(self).update({name: value for name, value in default_vals.items() if not self.has(name)})

    def get(self, name: str, *default: Any) -> Any:
        """A parameter, or the default where one is given."""
        if len(default) > 1:
            raise ValueError(f"get({name!r}) takes one default, not {len(default)}")
        return getattr(self, name, *default)

    def has(self, name: str) -> bool:
        """Whether there is such a parameter."""
        return hasattr(self, name)


class FeatureParams:
    """Parameters by feature; lists become a :class:`TensorList`."""

    def __init__(self, **values: Any) -> None:
        for name, value in values.items():
            setattr(self, name, TensorList(value) if isinstance(value, list) else value)


def Choice(*values: Any) -> Any:  # noqa: N802  (pytracking's name)
    """One of the values, by chance."""
    return random.choice(values)
