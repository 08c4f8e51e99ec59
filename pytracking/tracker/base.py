"""The interface of all trackers and their common parameters."""
from __future__ import annotations

import warnings
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, TypeVar

import numpy as np


def never_recommended(default: Any) -> Any:
    """A field that networks may not recommend: the trackers of a comparison differ in it."""
    return field(default=default, metadata={"recommended": False})


class _RecordsProvenance(type):
    """Records which parameters were passed by name, whatever their values."""

    def __call__(cls, *arguments: Any, **given: Any) -> Any:
        params = super().__call__(*arguments, **given)
        names = list(given)
        if "provenance" in given:
            # dataclasses.replace() passes every field: first the changed ones, then the others in the order of their
            # definition, which starts with `provenance`.
            names = names[: names.index("provenance")]
        params.provenance = {**given.get("provenance", {}), **dict.fromkeys(names, "file")}
        return params


@dataclass(kw_only=True, slots=True)
class TrackerParams(metaclass=_RecordsProvenance):
    """Parameters common to all trackers; each tracker's own ``params.py`` extends this.

    A dataclass with slots, so that a misspelled name raises instead of being ignored. A parameter is *stated* if it was
    passed to the constructor or to ``dataclasses.replace``, or assigned later, even if its value did not change.
    Recommendations of networks never replace a stated parameter.
    """

    # Who stated each parameter: "file" (the parameter file or other code), "user" (an override) or "network" (a
    # recommendation). Maintained automatically; parameters that are missing here have the default of their class.
    provenance: dict[str, str] = field(default_factory=dict, compare=False, repr=False)

    device: str = "auto"  # "auto": CUDA if available, otherwise MPS, otherwise the CPU
    weights: str | None = None  # file name of the network used in the paper, e.g. "dimp50.pth"
    fallback_weights: str | None = None  # bundled network to use if the file `weights` is missing
    engine: str = "auto"  # runs the frozen networks: "torch" or "onnxruntime"; "auto": ONNX Runtime on CPUs
    cpu_threads: int | None = None  # maximum number of threads; None: OMP_NUM_THREADS, otherwise the number of cores
    network_file: Path | None = None  # the network's file; set by pytracking.evaluation.Tracker
    debug: int = 0  # 0: no debug views; higher levels show more

    vot_anno_conversion_type: ClassVar[str] = "preserve_area"  # converts VOT's polygons to boxes; or "union"

    def __setattr__(self, name: str, value: Any) -> None:
        stated = hasattr(self, name) and name != "provenance"  # the constructor makes the first assignment
        object.__setattr__(self, name, value)
        if stated:
            self.provenance = {**self.provenance, name: "file"}


Params = TypeVar("Params", bound=TrackerParams)


def with_values(params: Params, values: dict[str, Any], source: str) -> Params:
    """Returns a copy with changed values, stated by ``source``."""
    changed = replace(params, **values)
    changed.provenance = {**params.provenance, **dict.fromkeys(values, source)}
    return changed


def with_recommendations(params: Params, recommended: dict[str, Any]) -> Params:
    """Returns the parameters with a network's recommendations for all that were not stated.

    The recommendations are ``metadata["tracker"]`` of the network's file. :mod:`pytracking.evaluation.parameters`
    applies them; trackers created without it use their parameters unchanged. Raises AttributeError for parameters that
    do not exist or that networks may not recommend.
    """
    known = {each.name for each in fields(params) if each.metadata.get("recommended", True)}
    known -= {each.name for each in fields(TrackerParams)}
    unknown = sorted(set(recommended) - known)
    if unknown:
        raise AttributeError(
            f"the network {params.network_file or ''} recommends tracker parameters {unknown}, "
            f"which {type(params).__name__} does not have or networks may not recommend"
        )
    unstated = {name: value for name, value in recommended.items() if name not in params.provenance}
    return with_values(params, unstated, "network")


class RejectedUpdateWarning(RuntimeWarning):
    """An online update was rejected and the previous model kept."""


class RejectedUpdates:
    """Counts the rejected online updates of a sequence; the warning about the first one suggests the ``remedy``."""

    def __init__(self, remedy: str) -> None:
        self.remedy = remedy
        self.count = 0

    def add(self, reason: str) -> None:
        """Counts one rejection; ``reason`` says what was rejected and why."""
        self.count += 1
        if self.count == 1:
            warnings.warn(
                f"{reason}. {self.remedy} (Later rejections in this sequence are only counted, in the output's "
                "learner['rejected'].)",
                RejectedUpdateWarning,
                stacklevel=3,
            )


class BaseTracker:
    """A tracker of one target: call ``initialize`` once, then ``track`` for each frame.

    Images are RGB uint8 arrays (h, w, 3); boxes are float ``[x, y, w, h]`` in pixels, 0-based.
    """

    needs_ground_truth = False  # True: info["ground_truth"] of the first frame holds the boxes of all frames

    visdom: Any = None  # read by trackers written for pytracking; never set here

    computing: Mapping[str, Any] = MappingProxyType({})  # for records: engine and threads, for trackers with a choice

    def __init__(self, params: TrackerParams) -> None:
        self.params = params

    def initialize(self, image: np.ndarray, info: dict[str, Any]) -> dict[str, Any] | None:
        """Starts tracking on the first frame.

        Args:
            image: the first frame.
            info: ``init_bbox`` (required), ``seed`` (optional int that seeds everything random in the tracker) and
                ``sequence_name`` (if known).

        Returns:
            None, or a dict of extra outputs such as ``time``.
        """
        raise NotImplementedError

    def settle(self) -> None:
        """Waits for the tracker's background work and raises its errors."""
        return

    def another(self) -> BaseTracker:
        """Returns a tracker for another target with the same parameters; constant parts such as networks are shared."""
        return type(self)(self.params)

    def track(self, image: np.ndarray, info: dict[str, Any] | None = None) -> dict[str, Any]:
        """Finds the target in the next frame.

        Args:
            image: the frame.
            info: ``frame_index`` (1 for the second frame) and ``previous_output`` (the result of the last call).

        Returns:
            ``target_bbox`` (required) and, depending on the tracker, ``score`` (float), ``flag`` ("normal",
            "uncertain", "hard_negative" or "not_found"), ``score_map`` (2-d array) and ``learner`` (dict of numbers
            about the online learner: ``updated``, ``rank``, ``nbytes``, ``loss``).
        """
        raise NotImplementedError


class StagedTracker(BaseTracker):
    """A tracker that yields its patches instead of running the network on them itself.

    :mod:`pytracking.evaluation.targets` uses this to run the network on the patches of several targets at once.
    """

    def stages(
        self, image: np.ndarray, info: dict[str, Any] | None = None
    ) -> Generator[Any, dict[str, Any], dict[str, Any]]:
        """:meth:`track` as a generator: yields patches (n, 3, h, w), receives their features, returns the output."""
        raise NotImplementedError

    def extract(self, patches: Any) -> dict[str, Any]:
        """Features by name, each (n, ...), of patches (n, 3, h, w) from any tracker that shares the network."""
        raise NotImplementedError

    def track(self, image: np.ndarray, info: dict[str, Any] | None = None) -> dict[str, Any]:
        stages = self.stages(image, info)
        patches = next(stages)
        while True:
            try:
                patches = stages.send(self.extract(patches))
            except StopIteration as end:
                return end.value
