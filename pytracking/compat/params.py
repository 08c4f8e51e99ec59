"""pytracking's parameter classes."""
import random
from typing import Any

from pytracking.compat.tensorlist import TensorList


class TrackerParams:
    """Parameters as free attributes; accepted everywhere in place of this project's parameter dataclasses."""

    def __init__(self, **values: Any) -> None:
        vars(self).update(values)

    def set_default_values(self, default_vals: dict[str, Any]) -> None:
        """Sets the parameters that are not set yet."""
        vars(self).update({name: value for name, value in default_vals.items() if not self.has(name)})

    def get(self, name: str, *default: Any) -> Any:
        """Returns a parameter, or the default if one is given."""
        if len(default) > 1:
            raise ValueError(f"get({name!r}) takes one default, not {len(default)}")
        return getattr(self, name, *default)

    def has(self, name: str) -> bool:
        """Whether the parameter is set."""
        return hasattr(self, name)


class FeatureParams:
    """Parameters of a feature; lists become a :class:`TensorList`."""

    def __init__(self, **values: Any) -> None:
        for name, value in values.items():
            setattr(self, name, TensorList(value) if isinstance(value, list) else value)


def Choice(*values: Any) -> Any:  # noqa: N802  (pytracking's name)
    """Returns one of the values at random."""
    return random.choice(values)
