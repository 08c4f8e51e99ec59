"""Trackers and their parameter files by name, found on the package layout: the one place that imports them.

Trackers may also live outside this project: each folder of ``PYTRACKING_TRACKER_PATH`` (or ``tracker_path`` of the
user's config file; several are separated as in ``PATH``) has ``tracker/<name>`` and ``parameter/<name>`` like this
package. They are imported as ``pytracking.tracker.<name>`` and ``pytracking.parameter.<name>``.
"""
from __future__ import annotations

import importlib
import importlib.util
import os
import pkgutil
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from ltr.errors import UserError
from pytracking.evaluation.environment import env_settings
from pytracking.utils.names import unknown_name_message


class UnknownTrackerError(UserError):
    """A tracker or parameter name that does not exist."""


def tracker_names() -> list[str]:
    """Trackers that exist in ``pytracking.tracker``."""
    package = _package("tracker")
    return sorted(module.name for module in pkgutil.iter_modules(package.__path__) if module.ispkg)


def parameter_names(tracker: str) -> list[str]:
    """Parameter files that exist for a tracker."""
    _package("parameter")
    if importlib.util.find_spec(f"pytracking.parameter.{tracker}") is None:
        return []
    package = importlib.import_module(f"pytracking.parameter.{tracker}")
    return sorted(module.name for module in pkgutil.iter_modules(package.__path__))


def check_exists(tracker: str, parameter: str) -> None:
    """Refuses names that do not exist; the UnknownTrackerError says what does."""
    if tracker not in tracker_names():
        raise UnknownTrackerError(unknown_name_message("tracker", tracker, tracker_names()))
    parameters = parameter_names(tracker)
    if parameter not in parameters:
        kind = f"parameter file of tracker '{tracker}' called"
        raise UnknownTrackerError(unknown_name_message(kind, parameter, parameters))


def load_parameters(tracker: str, parameter: str) -> Any:
    """What a parameter file says (:class:`pytracking.tracker.base.TrackerParams`)."""
    _package("tracker")
    _package("parameter")
    module = importlib.import_module(f"pytracking.parameter.{tracker}.{parameter}")
    params = _function(module, "parameters")()
    if params is None:
        raise UserError(f"{module.__file__}: parameters() returns nothing; let it end with 'return params'")
    return params


def tracker_class(tracker: str) -> type:
    """The class of a tracker (:class:`pytracking.tracker.base.BaseTracker`)."""
    _package("tracker")
    module = importlib.import_module(f"pytracking.tracker.{tracker}")
    found = _function(module, "get_tracker_class")()
    if not isinstance(found, type):
        raise UserError(f"{module.__file__}: get_tracker_class() must return the tracker's class, not {found!r}")
    return found


def _function(module: ModuleType, name: str) -> Callable[[], Any]:
    if not callable(getattr(module, name, None)):
        raise UserError(f"{module.__file__} has no function {name}(), by which a tracker is found here")
    return getattr(module, name)


def _package(kind: str) -> ModuleType:
    """``pytracking.tracker`` or ``pytracking.parameter``, with the user's folders; ours come first."""
    package = importlib.import_module(f"pytracking.{kind}")
    for root in map(Path, filter(None, str(env_settings().tracker_path or "").split(os.pathsep))):
        folder = root.expanduser() / kind
        if str(folder) in package.__path__:
            continue
        if not folder.is_dir():
            raise UserError(f"tracker_path: {root} must have tracker/<name> and parameter/<name>; there is no {folder}")
        existing = {module.name for module in pkgutil.iter_modules(package.__path__)}
        double = sorted(existing & {module.name for module in pkgutil.iter_modules([str(folder)])})
        if double:
            raise UserError(f"{folder / double[0]}: there is a {kind} '{double[0]}' here already; rename that folder")
        package.__path__.append(str(folder))
        importlib.invalidate_caches()
    return package
