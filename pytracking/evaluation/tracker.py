"""A tracker with its parameters, network and run number."""
from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from ltr.errors import UserError
from pytracking.evaluation.discovery import UnknownTrackerError, check_exists, load_parameters, tracker_class
from pytracking.evaluation.environment import env_settings
from pytracking.evaluation.networks import Weights
from pytracking.evaluation.parameters import resolve_parameters
from pytracking.evaluation.results import list_runs, result_dir
from pytracking.evaluation.seeds import seed_for
from pytracking.evaluation.sequence import Sequence
from pytracking.evaluation.tracking import SequenceOutput, track_sequence


class Tracker:
    """A tracker with one set of parameters and one run number.

    Args:
        run_id: number of the run (selects the seed and the result folder), or None for a single run.
        strict_weights: raise if the paper's network is not on this machine, instead of using the bundled one.
        network: run on this network (file name, or name of a bundled one) instead of the parameters' own; its name
            becomes part of the result folder's.
        overrides: parameter values that replace the file's.

    Raises:
        UnknownTrackerError: if there is no such tracker or parameter file, and there are no results of it to analyse.
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
            raise UserError(f"run_id must be None or an integer >= 0, not {run_id!r}")
        self.name = name
        self.parameter_name = parameter_name
        self.run_id = run_id
        self.display_name = display_name or f"{name}/{parameter_name}"
        self.strict_weights = strict_weights
        self.network = network
        self.overrides = dict(overrides or {})
        self.runnable = self._exists()
        self._resolved: tuple[Any, Weights] | None = None  # sent to workers, so that they run what is recorded

    def __repr__(self) -> str:
        return f"Tracker({self.name!r}, {self.parameter_name!r}, run_id={self.run_id})"

    def _exists(self) -> bool:
        """Whether the tracker can run; False if there are only results of it, to analyse."""
        try:
            check_exists(self.name, self.parameter_name)
        except UnknownTrackerError:
            if list_runs(env_settings().results_path / self.name, self.parameter_name):
                return False
            raise
        return True

    @property
    def results_dir(self) -> Path:
        """Folder of this run's results; its name includes the network if that is not the paper's."""
        param = self.parameter_name
        if self.runnable and self.weights.fallback:
            param += f"@{self.weights.name}"
        return result_dir(env_settings().results_path, self.name, param, self.run_id)

    @property
    def weights(self) -> Weights:
        """The network that this tracker runs on."""
        return self._resolve()[1]

    def file_parameters(self) -> Any:
        """The parameter file's values, without the user's overrides and the network's recommendations."""
        if not self.runnable:
            name = f"'{self.name}/{self.parameter_name}'"
            raise UnknownTrackerError(f"{name} has results but no code here: it can be analysed but not run")
        return load_parameters(self.name, self.parameter_name)

    def get_parameters(self, overrides: dict[str, Any] | None = None) -> Any:
        """The parameters that the tracker runs with, and the source of each: file, user or network."""
        return copy.copy(self.with_overrides(overrides)._resolve()[0])

    def with_overrides(self, overrides: dict[str, Any] | None) -> Tracker:
        """Returns the tracker with further overrides."""
        if not overrides:
            return self
        tracker = copy.copy(self)
        tracker.overrides, tracker._resolved = {**self.overrides, **overrides}, None
        return tracker

    @property
    def segmentation_dir(self) -> Path:
        """Folder of this run's masks, for trackers that output masks."""
        return env_settings().segmentation_path / self.name / self.results_dir.name

    @property
    def tracker_class(self) -> type | None:
        """The tracker's class; None if it cannot run."""
        return tracker_class(self.name) if self.runnable else None

    def create_tracker(self, params: Any = None) -> Any:
        """Creates a tracker object; ``params`` are overrides by name, or all parameters from :meth:`get_parameters`."""
        if params is None or isinstance(params, dict):
            params = self.get_parameters(params)
        return tracker_class(self.name)(params)

    def _resolve(self) -> tuple[Any, Weights]:
        if self._resolved is None:
            self._resolved = resolve_parameters(
                self.file_parameters(),
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
        debug: int | None = None,
        tracker: Any = None,
        progress: Callable[[int], None] | None = None,
    ) -> SequenceOutput:
        """Tracks one sequence and returns the output; writes nothing.

        Pass a ``tracker`` from :meth:`create_tracker` to reuse its loaded network. ``progress`` is called with the
        number of frames done.
        """
        if tracker is None:
            tracker = self.create_tracker(None if debug is None else {"debug": int(debug)})
        return track_sequence(tracker, sequence, seed=seed_for(self.run_id, sequence.name), progress=progress)


def trackerlist(
    name: str,
    parameter_name: str,
    run_ids: int | Iterable[int] | None = None,
    display_name: str | None = None,
) -> list[Tracker]:
    """Creates one tracker per run; an integer or None gives a list of one."""
    if run_ids is None or isinstance(run_ids, int):
        run_ids = [run_ids]
    return [Tracker(name, parameter_name, run_id, display_name) for run_id in run_ids]
