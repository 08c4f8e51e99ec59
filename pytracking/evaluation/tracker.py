"""Trackers by name: found on the package layout, given their weights, run on a sequence."""
from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from pytracking.evaluation.environment import env_settings
from pytracking.evaluation.results import result_dir
from pytracking.evaluation.seeds import seed_for
from pytracking.evaluation.sequence import Sequence, SequenceError
from pytracking.utils.names import unknown_name_message
from pytracking.utils.notices import Notice


class UnknownTrackerError(ValueError):
    """A tracker or parameter name that does not exist."""


class UnknownParameterError(AttributeError, ValueError):
    """A parameter that a tracker does not have."""


class MissingWeightsError(FileNotFoundError):
    """A tracker's network is not on this machine."""


class FallbackWeightsWarning(Notice):
    """A tracker runs on a bundled network because the paper's is not on this machine."""


class TrackerOutputError(ValueError):
    """A tracker returned something that is not a box."""


@dataclass
class SequenceOutput:
    """What a tracker said about one sequence."""

    boxes: np.ndarray  # (n, 4), x y w h; the first is the given one
    times: np.ndarray  # (n,), seconds inside the tracker; the first is the initialisation
    scores: np.ndarray | None  # (n,), the tracker's own score, NaN where it gave none; None: it never did


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
    ) -> None:
        if run_id is not None and (not isinstance(run_id, int) or run_id < 0):
            raise ValueError(f"run_id must be None or an integer >= 0, not {run_id!r}")
        self.name = name
        self.parameter_name = parameter_name
        self.run_id = run_id
        self.display_name = display_name or f"{name}/{parameter_name}"
        self.strict_weights = strict_weights
        self.network = network
        self.runnable = self._exists()
        self._weights: _Weights | None = None

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
            if any(foreign.glob(f"{self.parameter_name}*")):
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
    def weights(self) -> _Weights:
        """The network file that this tracker runs on."""
        if self._weights is None:
            self._weights = _resolve_weights(self._load_parameters(), self)
        return self._weights

    def get_parameters(self, overrides: dict[str, Any] | None = None) -> Any:
        """The parameters, with the network's file filled in and ``overrides`` applied.

        Raises:
            UnknownParameterError: if an override names a parameter that does not exist.
        """
        params = self._load_parameters()
        params.network_file = self.weights.file
        existing = [field.name for field in fields(params)]
        for key, value in (overrides or {}).items():
            if key not in existing:
                message = unknown_name_message(f"parameter of tracker '{self.name}' called", key, existing)
                raise UnknownParameterError(message)
            setattr(params, key, value)
        params.stated = tuple(overrides or ())
        return params

    def create_tracker(self, overrides: dict[str, Any] | None = None) -> Any:
        """A new tracker object (:class:`pytracking.tracker.base.BaseTracker`)."""
        params = self.get_parameters(overrides)
        return importlib.import_module(f"pytracking.tracker.{self.name}").get_tracker_class()(params)

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
        BoxError, ImageReadError, SequenceError, TrackerOutputError: naming sequence, frame and file.
    """
    first = sequence.load_frame(0)
    info = {**sequence.checked_init_info(first), "seed": seed, "sequence_name": sequence.name}
    if getattr(tracker, "needs_ground_truth", False):
        info["ground_truth"] = sequence.ground_truth_rect
    boxes = np.empty((len(sequence), 4))
    times = np.empty(len(sequence))
    scores = np.full(len(sequence), np.nan)
    for index in range(len(sequence)):
        image = first if index == 0 else sequence.load_frame(index)
        if image.shape != first.shape:
            raise SequenceError(
                f"{sequence.label}: frame {index + 1} ({sequence.frames[index]}) is {image.shape[1]}x{image.shape[0]}, "
                f"the first frame {first.shape[1]}x{first.shape[0]}; all frames must have one size"
            )
        start = time.perf_counter()
        if index == 0:
            output = {"target_bbox": info["init_bbox"], **(tracker.initialize(image, info) or {})}
        else:
            output = tracker.track(image, {"frame_index": index, "previous_output": output})
        times[index] = output.get("time", time.perf_counter() - start)
        boxes[index] = box_of_output(output, f"frame {index + 1} of sequence '{sequence.name}'")
        scores[index] = _score(output)
        if progress is not None:
            progress(index + 1)
    return SequenceOutput(boxes, times, None if np.isnan(scores).all() else scores)


def _score(output: dict[str, Any]) -> float:
    score = output.get("score")
    return np.nan if score is None else float(score)


def box_of_output(output: dict[str, Any], where: str) -> np.ndarray:
    """The box (4,) that a tracker returned, checked.

    Raises:
        TrackerOutputError: if it is not four finite numbers, or its size is negative; ``where`` starts the message.
    """
    try:
        box = np.asarray(output["target_bbox"], dtype=np.float64)
    except (KeyError, TypeError, ValueError) as error:
        raise TrackerOutputError(f"{where}: the tracker returned no 'target_bbox' of four numbers: {output}") from error
    if box.shape != (4,) or not np.isfinite(box).all():
        raise TrackerOutputError(f"{where}: the tracker returned the box {box.tolist()}, not four finite numbers")
    if (box[2:] < 0).any():
        raise TrackerOutputError(f"{where}: the tracker returned the box {box.tolist()}, of negative size")
    return box


@dataclass(frozen=True)
class _Weights:
    file: Path | None  # None: the tracker needs no network
    fallback: bool = False  # whether it is another than the parameters name: the bundled stand-in, or one asked for

    @property
    def name(self) -> str | None:
        return self.file.stem if self.file else None


def _resolve_weights(params: Any, tracker: Tracker) -> _Weights:
    if params.weights is None and params.fallback_weights is None:
        return _Weights(None)
    from ltr.weights import find_weights  # here because trackers without a network work without ltr

    search = [env_settings().network_path]
    if tracker.network is not None:
        file = find_weights(tracker.network, search)
        if file is None:
            raise MissingWeightsError(f"{tracker.name}: network '{tracker.network}' is not in {search[0]}, nor bundled")
        return _Weights(file, fallback=True)
    file = find_weights(params.weights, search) if params.weights else None
    if file is not None:
        return _Weights(file)
    missing = f"{tracker.name}/{tracker.parameter_name}: network '{params.weights}' is not in {search[0]}"
    remedy = "`python -m pytracking weights` says where to get it"
    if params.weights and params.weights.endswith(".onnx"):
        remedy = "it is in OpenCV's model zoo; put it there, or set network_path (docs/running.md)"
    fallback = find_weights(params.fallback_weights, search) if params.fallback_weights else None
    if fallback is None or (tracker.strict_weights and params.weights):
        raise MissingWeightsError(f"{missing}; {remedy}")
    if params.weights is None:
        return _Weights(fallback)
    warnings.warn(
        f"{missing}; running on the bundled network '{fallback.stem}' instead ({remedy})",
        FallbackWeightsWarning,
        stacklevel=3,
    )
    return _Weights(fallback, fallback=True)
