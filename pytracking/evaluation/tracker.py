"""A tracker with its parameters, network and run: what is run, recorded and analysed."""
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
    """A tracker with one set of parameters, and one of its runs.

    Args:
        run_id: number of the run (selects the seed and the result folder), or None for a single run.
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
            raise UserError(f"run_id must be None or an integer >= 0, not {run_id!r}")
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
        """Whether it can run; False for results from elsewhere, which can only be analysed."""
        try:
            check_exists(self.name, self.parameter_name)
        except UnknownTrackerError:
            if list_runs(env_settings().results_path / self.name, self.parameter_name):
                return False
            raise
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

    def file_parameters(self) -> Any:
        """The parameter file's values, before those of the user and the network."""
        if not self.runnable:
            name = f"'{self.name}/{self.parameter_name}'"
            raise UnknownTrackerError(f"{name} has results but no code here: it can be analysed, not run")
        return load_parameters(self.name, self.parameter_name)

    def get_parameters(self, overrides: dict[str, Any] | None = None) -> Any:
        """The parameters that the tracker runs with, and the source of each: file, user or network."""
        return copy.copy(self.with_overrides(overrides)._resolve()[0])

    def with_overrides(self, overrides: dict[str, Any] | None) -> Tracker:
        """The same tracker with more parameters stated by a user."""
        if not overrides:
            return self
        tracker = copy.copy(self)
        tracker.overrides, tracker._resolved = {**self.overrides, **overrides}, None
        return tracker

    @property
    def segmentation_dir(self) -> Path:
        """Folder of this run's masks, for trackers that make some."""
        return env_settings().segmentation_path / self.name / self.results_dir.name

    @property
    def tracker_class(self) -> type | None:
        """The tracker's class; None for results from elsewhere."""
        return tracker_class(self.name) if self.runnable else None

    def create_tracker(self, params: Any = None) -> Any:
        """A new tracker object; ``params`` are some to change, by name, or all as :meth:`get_parameters` gives them."""
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
        overrides: dict[str, Any] | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> SequenceOutput:
        """Tracks one sequence and returns the output; writes nothing.

        A ``tracker`` of :meth:`create_tracker` is used again: its network stays loaded. ``progress`` is called with the
        number of frames done.
        """
        if debug is not None:
            overrides = {**(overrides or {}), "debug": int(debug)}
        tracker = self.create_tracker(overrides) if tracker is None else tracker
        return track_sequence(tracker, sequence, seed=seed_for(self.run_id, sequence.name), progress=progress)


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
