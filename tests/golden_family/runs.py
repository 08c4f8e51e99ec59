"""Repeating the golden runs: their parameters as ours, their draws replayed, and what the parts of a tracker say."""
from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from pytracking.tracker.atom.objective import project
from pytracking.tracker.dimp import refinement
from pytracking.tracker.dimp.dimp import DimpTracker
from pytracking.tracker.dimp.params import AugmentationParams, DimpParams
from tests.golden_family.support import padded, read_frame

RENAMED = {  # upstream's names of parameters: ours
    "dispalcement_scale": "displacement_scale",
    "CG_iter": "net_opt_update_iter",
    "hard_negative_CG_iter": "net_opt_hn_iter",
    "fletcher_reeves": "classifier.fletcher_reeves",
    "CG_forgetting_rate": "classifier.forgetting_rate",
    "init_GN_iter": "classifier.init_steps",
    "score_upsample_factor": "classifier.score_upsample_factor",
    "feature_size_odd": "classifier.feature_size_odd",
    "compressed_dim": "classifier.channels",
    "kernel_size": "classifier.kernel_size",
    "filter_reg": "classifier.filter_reg",
    "projection_reg": "classifier.projection_reg",
    "output_sigma_factor": "classifier.output_sigma_factor",
    "response_activation": "classifier.slope_length",
    "max_image_sample_size": "image_sample_size",
    "min_image_sample_size": "image_sample_size",
}
# Always so, or without a meaning here: what is asked for, where there is a choice at all.
FIXED = {
    "post_init_CG_iter": 0,
    "proj_init_method": "randn",
    "filter_init_method": "randn",
    "projection_activation": "none",
    "update_projection_matrix": True,
    "feature_window": False,
    "scale_factors": [1.0],
    "use_augmentation": True,
    "iounet_augmentation": False,
}
IGNORED = {"debug", "device", "dtype", "use_gpu", "visualization", "vot_anno_conversion_type", "standard_alpha"}


def plain_parameters(config: dict) -> dict[str, Any]:
    """Upstream's parameters in one table; those of ATOM's only feature beside the others."""
    return {k: v for k, v in config["parameters"].items() if k != "feature"} | config["parameters"].get("feature", {})


def translate(name: str, value: Any, config: dict) -> Any:
    """A value as our parameter of that meaning has it."""
    if name == "augmentation":
        copies, probability = value.get("dropout", (0, AugmentationParams().dropout_probability))
        return AugmentationParams(
            relative_shifts=tuple(map(tuple, value["relativeshift"])),
            flip_horizontal=value["fliplr"],
            blurs=tuple(map(tuple, value["blur"])),
            rotations=tuple(value["rotate"]),
            dropout_copies=copies,
            dropout_probability=probability,
        )
    if name == "kernel_size":
        return value[0]
    if name == "response_activation":
        return None if value == "none" else value[1]
    if name in ("max_image_sample_size", "min_image_sample_size"):
        return round(value**0.5)
    if name == "init_samples_minimum_weight" and value is None:
        return 0.0
    return tuple(value) if isinstance(value, list) else value


def set_parameter(params: Any, path: str, value: Any) -> Any:
    """The dataclass with another value at a dotted path."""
    first, _, rest = path.partition(".")
    return replace(params, **{first: set_parameter(getattr(params, first), rest, value) if rest else value})


def get_parameter(params: Any, path: str) -> Any:
    for name in path.split("."):
        params = getattr(params, name)
    return params


def make_params(config: dict) -> DimpParams:
    """Our parameter file for the run with the run's overrides, once it is known to agree with upstream's in all."""
    name = config["param"].rpartition("/")[2]
    params = importlib.import_module(f"pytracking.parameter.{config['tracker']}.{name}").parameters()
    upstream = plain_parameters(config)
    changed = set(config["overrides"])
    if config["randomness"].startswith("off"):
        changed |= {"augmentation", "random_shift_factor", "num_init_random_boxes"}
    for key in changed - IGNORED - {"init_CG_iter"}:
        params = set_parameter(params, RENAMED.get(key, key), translate(key, upstream[key], config))
    if "init_CG_iter" in upstream:
        inner = upstream["init_CG_iter"] // upstream["init_GN_iter"]
        if changed & {"init_CG_iter", "init_GN_iter"}:
            params = set_parameter(params, "classifier.init_iterations", inner)
        assert params.classifier.init_iterations == inner
    for key, value in upstream.items():
        if key in FIXED:
            assert value == FIXED[key], f"{key}={value} has no counterpart here"
        elif key not in IGNORED | {"init_CG_iter"} and has_counterpart(params, key):
            assert get_parameter(params, RENAMED.get(key, key)) == translate(key, value, config), key
    return replace(params, device="cpu", output_score_map=True)


def has_counterpart(params: DimpParams, key: str) -> bool:
    path = RENAMED.get(key, key)
    if path.startswith("classifier.") and not is_dataclass(getattr(params, "classifier", None)):
        assert key == "feature_size_odd", f"{key} is no parameter of this tracker"  # upstream has it and reads it not
        return False
    names = {each.name for each in fields(params)}
    assert path.partition(".")[0] in names, f"{key} is no parameter of this tracker"
    return True


class Replay:
    """Stands for ``torch.rand`` and ``torch.randn``: hands out recorded numbers instead, where there are any."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, golden: dict) -> None:
        self.queues: dict[str, list[np.ndarray]] = {"rand": [], "randn": []}
        self.golden = golden
        if "draw_shift_u" in golden:
            self.queues["rand"] += list(golden["draw_shift_u"])
        if "draw_dropout_keep" in golden:  # a channel is kept where the number is large
            self.queues["rand"].append(golden["draw_dropout_keep"].astype(np.float32))
        if "draw_projection" in golden:
            projection, filters = golden["draw_projection"][:, :, 0, 0], golden["draw_filter"]
            self.queues["randn"] += [projection * projection.shape[1] ** 0.5, filters * filters[0].size]
        for name in self.queues:
            monkeypatch.setattr(torch, name, self._wrap(name, getattr(torch, name)))

    def _wrap(self, name: str, original: Callable) -> Callable:
        def draw(*shape: Any, **options: Any) -> Tensor:
            real = original(*shape, **options)
            if not self.queues[name]:
                return real
            recorded = torch.tensor(self.queues[name].pop(0))
            assert recorded.shape == real.shape, "drawn in another order or number than the golden run"
            return recorded.to(real.dtype)

        return draw

    def start_frame(self, index: int) -> None:
        """Before tracked frame ``index`` (from 0)."""
        assert not any(self.queues.values()), "the golden run drew more than this one"
        if "draw_jitter_u" in self.golden and not np.isnan(self.golden["draw_jitter_u"][index]).any():
            self.queues["rand"].append(self.golden["draw_jitter_u"][index])


class Watch:
    """Keeps what a tracker's parts return, frame by frame; NaN where a part was not asked."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, tracker: DimpTracker) -> None:
        self.refined: list[tuple[np.ndarray, np.ndarray, np.ndarray] | None] = []
        self.frames: list[tuple[np.ndarray, float]] = []
        self.modulation: list[np.ndarray] = []
        climb, cut, target_iou = refinement.climb, tracker.cut_patch, tracker.network.target_iou

        def watch_climb(boxes: np.ndarray, *args: Any, **options: Any) -> tuple[np.ndarray, np.ndarray]:
            after, values = climb(boxes, *args, **options)
            self.refined[-1] = boxes, after, values
            return after, values

        def watch_cut(image: np.ndarray):
            patch, frame = cut(image)
            self.frames.append((frame.pos, frame.scale))
            self.refined.append(None)
            return patch, frame

        def watch_target(backbone: dict, box: Tensor):
            modulation = tracker.network.bb_regressor.modulation(backbone, box.reshape(1, 4).to(backbone["layer2"]))
            self.modulation = [factors.numpy().ravel() for factors in modulation]
            return target_iou(backbone, box)

        monkeypatch.setattr(refinement, "climb", watch_climb)
        monkeypatch.setattr(tracker, "cut_patch", watch_cut)
        monkeypatch.setattr(tracker.network, "target_iou", watch_target)


def stage(monkeypatch: pytest.MonkeyPatch, tracker: DimpTracker, golden: dict, learnt: dict) -> None:
    """Lets ATOM go on from the golden run's filter and projection after the first frame; keeps what it learnt."""
    learn = tracker.learn_first_filter

    def learn_and_replace(features: Tensor, boxes: Tensor) -> Tensor:
        learn(features, boxes)
        learnt.update(filters=tracker.filters, features=features)
        tracker.filters = torch.tensor(golden["init_filter_sub"]).to(features).view_as(tracker.filters)
        tracker.projection = torch.tensor(golden["projection_final"][:, :, 0, 0]).to(features)
        return project(features, tracker.projection)

    monkeypatch.setattr(tracker, "learn_first_filter", learn_and_replace)


def settle_ties(monkeypatch: pytest.MonkeyPatch, tracker: DimpTracker, golden: dict, tolerance: float) -> None:
    """Where two pixels of ATOM's score map are equally high but for rounding, lets the golden run's choice count.

    Learning amplifies the rounding of gradients to 2e-3 of the scores, which moves the peak of a flat top by a pixel;
    the box moves along, and with it every later sample. The golden run's peak must be as high as this run's within the
    tolerance of scores.
    """
    make, translations = tracker.make_localizer, iter(golden["translation"])

    def make_settling(features: Tensor) -> Callable:
        localize = make(features)

        def settle(scores: np.ndarray, cell_size: np.ndarray, *args: Any) -> Any:
            found, wanted = localize(scores, cell_size, *args), next(translations).astype(float)
            if np.abs(found.translation - wanted).max() < 1e-3:
                return found
            here, there = (
                tuple(np.round(shift / cell_size + localize.middle).astype(int))
                for shift in (found.translation, wanted)
            )
            assert abs(scores[here] - scores[there]) <= tolerance, f"another peak: {here} instead of {there}"
            return replace(found, translation=wanted)

        return settle

    monkeypatch.setattr(tracker, "make_localizer", make_settling)


def run(tracker: DimpTracker, folder: Path, config: dict, replay: Replay) -> list[dict[str, Any]]:
    """Outputs of all frames, each with the filter and the target's state after it."""
    start = config["start_frame_index0"]
    boxes = np.loadtxt(folder / "groundtruth_rect.txt", delimiter=",")
    tracker.initialize(read_frame(folder, start + 1), {"init_bbox": boxes[start]})
    memory = {"weights": padded(tracker.memory.weights, tracker.memory.size), "boxes": tracker.memory.boxes.clone()}
    first = {"target_bbox": boxes[start], "flag": "init", "score": np.nan, "learner": {"num_iter": 0}, "memory": memory}
    outputs = [first | {"filters": tracker.filters}]
    for index in range(1, config["n_frames"]):
        replay.start_frame(index - 1)
        output = tracker.track(read_frame(folder, start + index + 1))
        state = {"pos": tracker.state.pos, "scale": tracker.state.scale}
        outputs.append(output | {"filters": tracker.filters, "state": state})
    return outputs
