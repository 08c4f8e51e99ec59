"""What every tracker offers, and the parameters every tracker has."""
from __future__ import annotations

import warnings
from dataclasses import MISSING, dataclass, fields, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np


@dataclass(kw_only=True, slots=True)
class TrackerParams:
    """Parameters common to all trackers; each tracker's own ``params.py`` extends this.

    A dataclass with slots, so that a misspelled name raises instead of being ignored.
    """

    device: str = "auto"  # "auto" takes CUDA, then MPS, then the CPU
    weights: str | None = None  # file name of the network that the paper used, e.g. "dimp50.pth"
    fallback_weights: str | None = None  # bundled network to run on where `weights` is not on disk
    engine: str = "auto"  # of the frozen networks: "torch", "onnxruntime"; "auto" takes ONNX Runtime on CPUs
    cpu_threads: int | None = None  # most threads to use; None: OMP_NUM_THREADS, or as many as there are cores
    network_file: Path | None = None  # the file found for one of the two; set by pytracking.evaluation.Tracker
    debug: int = 0  # 0: nothing; larger numbers: more views
    stated: tuple[str, ...] = ()  # parameters that a user gave by name: no network's recommendation replaces them


Params = TypeVar("Params", bound=TrackerParams)


def with_recommendations(params: Params, recommended: dict[str, Any]) -> Params:
    """The parameters with a network's recommendations wherever they have the value that their class gives them.

    The recommendations are ``metadata["tracker"]`` of the network's file. Parameters that a user gave by name
    (``params.stated``) stay, whatever their value.

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


class RejectedUpdateWarning(RuntimeWarning):
    """An online update was refused and the model from before it kept."""


class RejectedUpdates:
    """Counts the online updates refused in a sequence, and warns of the first.

    Args:
        remedy: which parameters to change, for the warning.
    """

    def __init__(self, remedy: str) -> None:
        self.remedy = remedy
        self.count = 0

    def add(self, reason: str) -> None:
        """One more; ``reason`` says what was refused and why."""
        self.count += 1
        if self.count == 1:
            warnings.warn(
                f"{reason}. {self.remedy} (Later rejections in this sequence are only counted, in the output's "
                "learner['rejected'].)",
                RejectedUpdateWarning,
                stacklevel=3,
            )


class BaseTracker:
    """A tracker of one target: ``initialize`` once, then ``track`` each frame.

    Images are RGB uint8 arrays (h, w, 3); boxes are float ``[x, y, w, h]`` in pixels, 0-based.
    """

    def __init__(self, params: TrackerParams) -> None:
        self.params = params

    def initialize(self, image: np.ndarray, info: dict[str, Any]) -> dict[str, Any] | None:
        """Starts on the first frame.

        Args:
            image: the first frame.
            info: ``init_bbox`` (required), ``seed`` (optional int: everything random in the tracker derives from it).

        Returns:
            None, or a dict of extra outputs such as ``time``.
        """
        raise NotImplementedError

    def track(self, image: np.ndarray, info: dict[str, Any] | None = None) -> dict[str, Any]:
        """Finds the target in the next frame.

        Returns:
            ``target_bbox`` (required), and where the tracker has them ``score`` (float), ``flag`` (one of "normal",
            "uncertain", "hard_negative", "not_found"), ``score_map`` (2-d array) and ``learner`` (dict of numbers about
            the online learner: ``updated``, ``rank``, ``nbytes``, ``loss``).
        """
        raise NotImplementedError
