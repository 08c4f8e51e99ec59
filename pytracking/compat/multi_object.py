"""Several objects in pytracking's format: dictionaries by object id."""
from collections.abc import Hashable
from typing import Any

import numpy as np

from pytracking.evaluation.targets import TargetGroup
from pytracking.tracker.base import BaseTracker


class MultiObjectWrapper:
    """Tracks several objects through :class:`TargetGroup`; ``visdom`` and ``fast_load`` are ignored."""

    def __init__(
        self, base_tracker_class: type[BaseTracker], params: Any, visdom: Any = None, fast_load: bool = False
    ) -> None:
        self.params = params
        self._group = TargetGroup(base_tracker_class(params))
        self._ids: dict[Hashable, int] = {}  # the caller's ids, which need not be numbers, to those of the group

    @property
    def initialized_ids(self) -> list[Hashable]:
        """Ids of the tracked objects."""
        return list(self._ids)

    def initialize(self, image: np.ndarray, info: dict[str, Any]) -> dict[str, Any]:
        """Starts tracking ``info["init_object_ids"]`` from the boxes ``info["init_bbox"]``; drops all other objects."""
        self._ids = {}
        self._group.init(image, {})
        return self._merged(self._added(image, info))

    def track(self, image: np.ndarray, info: dict[str, Any] | None = None) -> dict[str, Any]:
        """Tracks all objects and starts on those in ``info["init_object_ids"]``."""
        outputs = self._group.update(image)
        return self._merged({name: outputs[own] for name, own in self._ids.items()} | self._added(image, info or {}))

    def _added(self, image: np.ndarray, info: dict[str, Any]) -> dict[Hashable, dict[str, Any]]:
        outputs = {}
        for name in info.get("init_object_ids") or ():
            self._ids[name] = 1 + max(self._ids.values(), default=0)
            outputs[name] = self._group.add(image, self._ids[name], info["init_bbox"][name])
        return outputs

    @staticmethod
    def _merged(outputs: dict[Hashable, dict[str, Any]]) -> dict[str, dict[Hashable, Any]]:
        """Turns outputs by object into values by name, then by object."""
        names = dict.fromkeys(name for output in outputs.values() for name in output)
        return {name: {key: output.get(name) for key, output in outputs.items()} for name in names}
