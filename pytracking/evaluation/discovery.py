"""Finds trackers and parameter files by their place in the package, and imports them.

Trackers may also live outside this project: each folder of ``PYTRACKING_TRACKER_PATH`` (or ``tracker_path`` in the
user's config file; several are separated as in ``PATH``) has ``tracker/<name>`` and ``parameter/<name>`` like this
package. They are imported as ``pytracking.tracker.<name>`` and ``pytracking.parameter.<name>``.
"""
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
    """Names of all trackers."""
    package = _package("tracker")
    return sorted(module.name for module in pkgutil.iter_modules(package.__path__) if module.ispkg)


def parameter_names(tracker: str) -> list[str]:
    """Names of a tracker's parameter files."""
    _package("parameter")
    if importlib.util.find_spec(f"pytracking.parameter.{tracker}") is None:
        return []
    package = importlib.import_module(f"pytracking.parameter.{tracker}")
    return sorted(module.name for module in pkgutil.iter_modules(package.__path__))


def check_exists(tracker: str, parameter: str) -> None:
    """Raises an UnknownTrackerError, which lists the known names, if the tracker or parameter file does not exist."""
    if tracker not in tracker_names():
        raise UnknownTrackerError(unknown_name_message("tracker", tracker, tracker_names()))
    parameters = parameter_names(tracker)
    if parameter not in parameters:
        kind = f"parameter file of tracker '{tracker}' called"
        raise UnknownTrackerError(unknown_name_message(kind, parameter, parameters))


def load_parameters(tracker: str, parameter: str) -> Any:
    """Calls a parameter file's ``parameters()``; returns :class:`pytracking.tracker.base.TrackerParams`."""
    _package("tracker")
    _package("parameter")
    module = importlib.import_module(f"pytracking.parameter.{tracker}.{parameter}")
    params = _function(module, "parameters")()
    if params is None:
        raise UserError(f"{module.__file__}: parameters() returns None; end it with 'return params'")
    return params


def tracker_class(tracker: str) -> type:
    """Returns the class of a tracker (:class:`pytracking.tracker.base.BaseTracker`)."""
    _package("tracker")
    module = importlib.import_module(f"pytracking.tracker.{tracker}")
    found = _function(module, "get_tracker_class")()
    if not isinstance(found, type):
        raise UserError(f"{module.__file__}: get_tracker_class() must return a class, not {found!r}")
    return found


def _function(module: ModuleType, name: str) -> Callable[[], Any]:
    if not callable(getattr(module, name, None)):
        raise UserError(f"{module.__file__} has no function {name}(), which every tracker needs")
    return getattr(module, name)


def _package(kind: str) -> ModuleType:
    """Returns ``pytracking.tracker`` or ``pytracking.parameter``, extended by the user's folders."""
    package = importlib.import_module(f"pytracking.{kind}")
    for root in map(Path, filter(None, str(env_settings().tracker_path or "").split(os.pathsep))):
        folder = root.expanduser() / kind
        if str(folder) in package.__path__:
            continue
        if not folder.is_dir():
            raise UserError(f"tracker_path: {root} must have tracker/<name> and parameter/<name>; there is no {folder}")
        existing = {module.name for module in pkgutil.iter_modules(package.__path__)}
        clashes = sorted(existing & {module.name for module in pkgutil.iter_modules([str(folder)])})
        if clashes:
            raise UserError(f"{folder / clashes[0]}: there already is a {kind} '{clashes[0]}'; rename this folder")
        package.__path__.append(str(folder))
        importlib.invalidate_caches()
    return package
