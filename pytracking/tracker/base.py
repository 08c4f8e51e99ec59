"""The interface and the parameters of every tracker."""
from __future__ import annotations

import warnings
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, TypeVar

import numpy as np


def compared(default: Any) -> Any:
    """A field in which compared trackers differ, so networks may not recommend it: they would change the comparison."""
    return field(default=default, metadata={"recommended": False})


class _NotesWhatIsStated(type):
    """Records which parameters were given by name, whatever their values."""

    def __call__(cls, *arguments: Any, **given: Any) -> Any:
        params = super().__call__(*arguments, **given)
        names = list(given)
        if "provenance" in given:
            # dataclasses.replace() gives every field: first those that it changes, then the others in their order, of
            # which `provenance` is the first.
            names = names[: names.index("provenance")]
        params.provenance = {**given.get("provenance", {}), **dict.fromkeys(names, "file")}
        return params


@dataclass(kw_only=True, slots=True)
class TrackerParams(metaclass=_NotesWhatIsStated):
    """Parameters common to all trackers; each tracker's own ``params.py`` extends this.

    A dataclass with slots, so that a misspelled name raises instead of being ignored. A parameter is *stated* if its
    name was given to the constructor or to ``dataclasses.replace``, or if it was assigned later, even with the value
    that it had. No network's recommendation replaces a stated parameter.
    """

    # Who stated each parameter: "file" (whoever made the parameters, e.g. a parameter file), "user" (an override), or
    # "network" (recommended). Kept by itself; names that are not in it have the value of the class.
    provenance: dict[str, str] = field(default_factory=dict, compare=False, repr=False)

    device: str = "auto"  # "auto" takes CUDA, then MPS, then the CPU
    weights: str | None = None  # file name of the network that the paper used, e.g. "dimp50.pth"
    fallback_weights: str | None = None  # bundled network to run on where `weights` is not on disk
    engine: str = "auto"  # of the frozen networks: "torch", "onnxruntime"; "auto" takes ONNX Runtime on CPUs
    cpu_threads: int | None = None  # most threads to use; None: OMP_NUM_THREADS, or as many as there are cores
    network_file: Path | None = None  # the file found for one of the two; set by pytracking.evaluation.Tracker
    debug: int = 0  # 0: nothing; larger numbers: more views

    vot_anno_conversion_type: ClassVar[str] = "preserve_area"  # how VOT's polygons become boxes, or "union"

    def __setattr__(self, name: str, value: Any) -> None:
        stated = hasattr(self, name) and name != "provenance"  # the first assignment is the constructor's
        object.__setattr__(self, name, value)
        if stated:
            self.provenance = {**self.provenance, name: "file"}


Params = TypeVar("Params", bound=TrackerParams)


def with_values(params: Params, values: dict[str, Any], source: str) -> Params:
    """A copy with other values, which ``source`` has stated."""
    changed = replace(params, **values)
    changed.provenance = {**params.provenance, **dict.fromkeys(values, source)}
    return changed


def with_recommendations(params: Params, recommended: dict[str, Any]) -> Params:
    """The parameters with a network's recommendations for those that neither file nor user states.

    The recommendations are ``metadata["tracker"]`` of the network's file. :mod:`pytracking.evaluation.parameters`
    applies them; a tracker object that is made without it takes its parameters as they are. An AttributeError names
    those that do not exist or are not a network's business.
    """
    known = {each.name for each in fields(params) if each.metadata.get("recommended", True)}
    known -= {each.name for each in fields(TrackerParams)}
    unknown = sorted(set(recommended) - known)
    if unknown:
        raise AttributeError(
            f"the network {params.network_file or ''} recommends tracker parameters {unknown}, "
            f"which {type(params).__name__} does not have or a network may not choose"
        )
    unstated = {name: value for name, value in recommended.items() if name not in params.provenance}
    return with_values(params, unstated, "network")


class RejectedUpdateWarning(RuntimeWarning):
    """An online update was refused and the model from before it kept."""


class RejectedUpdates:
    """Counts the online updates refused in a sequence, and warns of the first, naming the ``remedy``."""

    def __init__(self, remedy: str) -> None:
        self.remedy = remedy
        self.count = 0

    def add(self, reason: str) -> None:
        """Counts one; ``reason`` says what was refused and why."""
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

    needs_ground_truth = False  # True: info["ground_truth"] of the first frame holds the boxes of all frames

    visdom: Any = None  # read by trackers written for pytracking; never set here

    computing: Mapping[str, Any] = MappingProxyType({})  # for records: engine and threads, where there is a choice

    def __init__(self, params: TrackerParams) -> None:
        self.params = params

    def initialize(self, image: np.ndarray, info: dict[str, Any]) -> dict[str, Any] | None:
        """Starts on the first frame.

        Args:
            image: the first frame.
            info: ``init_bbox`` (required), ``seed`` (optional int: everything random in the tracker derives from it),
                ``sequence_name`` (where it is known).

        Returns:
            None, or a dict of extra outputs such as ``time``.
        """
        raise NotImplementedError

    def predicts_segmentation_mask(self) -> bool:
        """Whether outputs have masks; trackers written for pytracking may."""
        return False

    def settle(self) -> None:
        """Waits for work that the tracker still does in the background, and raises its errors."""
        return

    def another(self) -> BaseTracker:
        """A tracker of another target with the same parameters; it shares what does not change, such as a network."""
        return type(self)(self.params)

    def track(self, image: np.ndarray, info: dict[str, Any] | None = None) -> dict[str, Any]:
        """Finds the target in the next frame.

        Args:
            image: the frame.
            info: ``frame_index`` (1 for the second frame) and ``previous_output``, what the last call returned.

        Returns:
            ``target_bbox`` (required), and where the tracker has them ``score`` (float), ``flag`` (one of "normal",
            "uncertain", "hard_negative", "not_found"), ``score_map`` (2-d array) and ``learner`` (dict of numbers about
            the online learner: ``updated``, ``rank``, ``nbytes``, ``loss``).
        """
        raise NotImplementedError


class StagedTracker(BaseTracker):
    """A tracker that stops wherever patches have to go through its network, so that those of several targets can go
    through it together; :mod:`pytracking.evaluation.targets` does that.
    """

    def stages(
        self, image: np.ndarray, info: dict[str, Any] | None = None
    ) -> Generator[Any, dict[str, Any], dict[str, Any]]:
        """:meth:`track` in stages: yields patches (n, 3, h, w), is sent their features, returns the output."""
        raise NotImplementedError

    def extract(self, patches: Any) -> dict[str, Any]:
        """Features by name, each (n, ...), of patches (n, 3, h, w) of any of the trackers that share the network."""
        raise NotImplementedError

    def track(self, image: np.ndarray, info: dict[str, Any] | None = None) -> dict[str, Any]:
        stages = self.stages(image, info)
        patches = next(stages)
        while True:
            try:
                patches = stages.send(self.extract(patches))
            except StopIteration as end:
                return end.value
