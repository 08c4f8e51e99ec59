"""Trackers by name: found on the package layout, given their weights, run on a sequence."""
from __future__ import annotations

import copy
import importlib
import importlib.util
import pkgutil
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from pytracking.evaluation.environment import env_settings
from pytracking.evaluation.frame_loop import FrameLoop
from pytracking.evaluation.parameters import (  # noqa: F401  (the errors are looked for here)
    FallbackWeightsWarning,
    MissingWeightsError,
    UnknownParameterError,
    Weights,
    resolve_parameters,
)
from pytracking.evaluation.results import result_dir
from pytracking.evaluation.run_folders import list_runs
from pytracking.evaluation.seeds import seed_for
from pytracking.evaluation.sequence import Sequence
from pytracking.utils.names import unknown_name_message
from pytracking.utils.read_ahead import read_ahead


class UnknownTrackerError(ValueError):
    """A tracker or parameter name that does not exist."""


@dataclass
class SequenceOutput:
    """What a tracker said about one sequence."""

    boxes: np.ndarray  # (n, 4), x y w h; the first is the given one
    times: np.ndarray  # (n,), seconds inside the tracker; the first is the initialisation
    scores: np.ndarray | None  # (n,), the tracker's own score, NaN where it gave none; None: it never did
    computing: dict[str, Any] = field(default_factory=dict)  # engine and threads, where the tracker has a choice


def tracker_names() -> list[str]:
    """Trackers that exist in ``pytracking.tracker``."""
    package = importlib.import_module("pytracking.tracker")
    return sorted(module.name for module in pkgutil.iter_modules(package.__path__) if module.ispkg)


def parameter_names(tracker: str) -> list[str]:
    """Parameter files that exist for a tracker."""
    if importlib.util.find_spec(f"pytracking.parameter.{tracker}") is None:
        return []
    package = importlib.import_module(f"pytracking.parameter.{tracker}")
    return sorted(module.name for module in pkgutil.iter_modules(package.__path__))


class Tracker:
    """A tracker with one set of parameters, and one of its runs.

    Args:
        name: folder in ``pytracking/tracker``.
        parameter_name: module in ``pytracking/parameter/<name>``.
        run_id: number of the run (selects the seed and the result folder), or None for a single run.
        display_name: name in tables and plots; by default made of the others.
        strict_weights: raise instead of running on the bundled network where the paper's is not on this machine.
        network: run on this network (file name, or name of a bundled one) instead of the one the parameters name; the
            result folder carries its name.
        overrides: parameters that a user states in place of the file's.

    Raises:
        UnknownTrackerError: if there is no such tracker or parameter file, and no results of it to analyse either.
    """

    def __init__(
        self,
        name: str,
        parameter_name: str,
        run_id: int | None = None,
        display_name: str | None = None,
        *,
        strict_weights: bool = False,
        network: str | None = None,
        overrides: dict[str, Any] | None = None,
    ) -> None:
        if run_id is not None and (not isinstance(run_id, int) or run_id < 0):
            raise ValueError(f"run_id must be None or an integer >= 0, not {run_id!r}")
        self.name = name
        self.parameter_name = parameter_name
        self.run_id = run_id
        self.display_name = display_name or f"{name}/{parameter_name}"
        self.strict_weights = strict_weights
        self.network = network
        self.overrides = dict(overrides or {})
        self.runnable = self._exists()
        self._resolved: tuple[Any, Weights] | None = None  # goes to workers as it is: what is recorded is what runs

    def __repr__(self) -> str:
        return f"Tracker({self.name!r}, {self.parameter_name!r}, run_id={self.run_id})"

    def _exists(self) -> bool:
        """Whether it can run; False for somebody else's results, which can only be analysed."""
        foreign = env_settings().results_path / self.name
        if self.name not in tracker_names():
            if foreign.is_dir():
                return False
            raise UnknownTrackerError(unknown_name_message("tracker", self.name, tracker_names()))
        parameters = parameter_names(self.name)
        if self.parameter_name not in parameters:
            if list_runs(foreign, self.parameter_name):
                return False
            kind = f"parameter file of tracker '{self.name}' called"
            raise UnknownTrackerError(unknown_name_message(kind, self.parameter_name, parameters))
        return True

    @property
    def results_dir(self) -> Path:
        """Folder of this run's results; it names the network where that is not the paper's."""
        param = self.parameter_name
        if self.runnable and self.weights.fallback:
            param += f"@{self.weights.name}"
        return result_dir(env_settings().results_path, self.name, param, self.run_id)

    @property
    def weights(self) -> Weights:
        """The network that this tracker runs on."""
        return self._resolve()[1]

    def get_parameters(self, overrides: dict[str, Any] | None = None) -> Any:
        """The parameters that really run: the file's, a user's, the network's, and where each comes from.

        Raises:
            UnknownParameterError: if an override names a parameter that does not exist.
        """
        return copy.copy(self.with_overrides(overrides)._resolve()[0])

    def with_overrides(self, overrides: dict[str, Any] | None) -> Tracker:
        """The same tracker with more parameters stated by a user."""
        if not overrides:
            return self
        tracker = copy.copy(self)
        tracker.overrides, tracker._resolved = {**self.overrides, **overrides}, None
        return tracker

    def create_tracker(self, overrides: dict[str, Any] | None = None) -> Any:
        """A new tracker object (:class:`pytracking.tracker.base.BaseTracker`)."""
        params = self.get_parameters(overrides)
        return importlib.import_module(f"pytracking.tracker.{self.name}").get_tracker_class()(params)

    def _resolve(self) -> tuple[Any, Weights]:
        if self._resolved is None:
            self._resolved = resolve_parameters(
                self._load_parameters(),
                f"{self.name}/{self.parameter_name}",
                overrides=self.overrides,
                network=self.network,
                strict_weights=self.strict_weights,
            )
        return self._resolved

    def run_sequence(
        self,
        sequence: Sequence,
        *,
        tracker: Any = None,
        overrides: dict[str, Any] | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> SequenceOutput:
        """Tracks one sequence and returns the output; writes nothing.

        Args:
            sequence: what to track.
            tracker: an object from :meth:`create_tracker` to use again (its network stays loaded); None makes one.
            overrides: parameters to change, where ``tracker`` is None.
            progress: called with the number of frames done.
        """
        tracker = self.create_tracker(overrides) if tracker is None else tracker
        return track_sequence(tracker, sequence, seed=seed_for(self.run_id, sequence.name), progress=progress)

    def _load_parameters(self) -> Any:
        if not self.runnable:
            raise UnknownTrackerError(
                f"'{self.name}/{self.parameter_name}' has results but no code here: it can be analysed, not run"
            )
        return importlib.import_module(f"pytracking.parameter.{self.name}.{self.parameter_name}").parameters()


def trackerlist(
    name: str,
    parameter_name: str,
    run_ids: int | Iterable[int] | None = None,
    display_name: str | None = None,
) -> list[Tracker]:
    """Trackers of several runs; an integer or None gives a list of one."""
    if run_ids is None or isinstance(run_ids, int):
        run_ids = [run_ids]
    return [Tracker(name, parameter_name, run_id, display_name) for run_id in run_ids]


def track_sequence(
    tracker: Any, sequence: Sequence, *, seed: int = 0, progress: Callable[[int], None] | None = None
) -> SequenceOutput:
    """Runs a tracker object over a sequence.

    Only the time inside the tracker is counted, not the reading of frames.

    Raises:
        BoxError, FrameError, ImageReadError, TrackerOutputError: naming sequence, frame and file.
    """
    loop = FrameLoop(tracker)
    boxes = np.empty((len(sequence), 4))
    times = np.empty(len(sequence))
    scores = np.full(len(sequence), np.nan)
    with closing(read_ahead(map(sequence.load_frame, range(1, len(sequence))))) as images:
        for index in range(len(sequence)):
            if index == 0:
                result = loop.start_sequence(sequence, seed)
            else:
                where = f"frame {index + 1} of sequence '{sequence.name}' ({sequence.frames[index]})"
                result = loop.next(next(images), where)
            boxes[index], times[index] = result.box, result.seconds
            scores[index] = np.nan if result.score is None else result.score
            if progress is not None:
                progress(index + 1)
    return SequenceOutput(boxes, times, None if np.isnan(scores).all() else scores, dict(tracker.computing))
