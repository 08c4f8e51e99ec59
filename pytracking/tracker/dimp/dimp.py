"""The DiMP tracker: a filter learnt online locates the target, the IoU-Net fits the box.

PrDiMP and SuperDiMP are this tracker with other networks and parameters; ATOM is a subclass.
"""
from __future__ import annotations

import time
from collections.abc import Generator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ltr.engine.side_by_side import is_side_by_side
from ltr.models.target_classifier import FilterObjective
from ltr.models.target_classifier.filtering import half_cell_offset
from ltr.models.tracking.dimpnet import DiMPNet
from pytracking.features.crop import sample_patch
from pytracking.features.windows import hann2d
from pytracking.tracker.base import StagedTracker
from pytracking.tracker.dimp.background import BackgroundLearning
from pytracking.tracker.dimp.confidence import UsualPeak, trust_in_box
from pytracking.tracker.dimp.debug import DebugViews
from pytracking.tracker.dimp.first_frame import FirstFrameSamples, sample_first_frame, with_dropout
from pytracking.tracker.dimp.geometry import PatchFrame, TargetState
from pytracking.tracker.dimp.guard import UpdateGuard, remedy_for
from pytracking.tracker.dimp.learner import OnlineLearner, make_descent_learner
from pytracking.tracker.dimp.localization import Flag, Localizer, localizer_for
from pytracking.tracker.dimp.network import describe_computing, load_dimp_network, with_engine
from pytracking.tracker.dimp.params import DimpParams
from pytracking.tracker.dimp.past import PastSamples
from pytracking.tracker.dimp.refinement import damped, refine_box
from pytracking.tracker.dimp.sample_memory import SampleMemory
from pytracking.tracker.dimp.scale_search import patches_at_scales, scale_factor
from pytracking.tracker.dimp.score_maps import preprocess, sum_around
from pytracking.utils.device import select_device
from pytracking.utils.threads import in_own_threads

TRUSTED = ("normal", "hard_negative")  # flags of frames to learn from


class DimpTracker(BackgroundLearning, StagedTracker):
    """DiMP, composed of its parts; subclasses and parameters choose the online learner.

    ``network`` replaces ``params.network_file``; it must be in eval mode and on the parameters' device.
    """

    params: DimpParams

    def __init__(self, params: DimpParams, network: DiMPNet | None = None) -> None:
        self.device = select_device(params.device)
        self.network = network or with_engine(self.load_network(params), params, self.device)
        self.computing = describe_computing(self.network, params)
        self.torch_threads = self.computing["torch_threads"]
        super().__init__(params)
        self.learner = self.make_learner()
        self.guard = UpdateGuard(remedy_for(params))
        self.past = PastSamples()
        self.debug = DebugViews(params.debug, params.debug_dir)

    def load_network(self, params: DimpParams) -> DiMPNet:
        """Loads the network of ``params.network_file``, ready for tracking."""
        return load_dimp_network(params.network_file, self.device, params.objective)

    def make_learner(self) -> OnlineLearner:
        """Creates the learner of the update stage."""
        return make_descent_learner(self.params, self.network)

    @in_own_threads
    @torch.no_grad()
    def initialize(self, image: np.ndarray, info: dict[str, Any]) -> dict[str, Any]:
        """Starts on ``info["init_bbox"]``; ``info["seed"]`` (default 0) seeds everything random."""
        start = time.perf_counter()
        self.settle()
        params = self.params
        self.generator = torch.Generator().manual_seed(int(info.get("seed", 0)))
        nominal_size = np.full(2, params.image_sample_size)
        self.state = TargetState.from_box(info["init_bbox"], image.shape[:2], nominal_size, params.search_area_scale)
        self.patch_size = self.choose_patch_size()
        self.frame_number = 1
        samples = self.sample_first_frame(image)
        backbone = self.extract(samples.patches)
        features = self.network.classification_features(backbone)
        features, boxes = with_dropout(features, samples.boxes, params.augmentation, self.generator)
        if params.use_iou_net:
            reference = {layer: maps[:1] for layer, maps in backbone.items()}
            self.target_iou = self.network.target_iou(reference, samples.boxes[0])
        features = self.learn_first_filter(features, boxes)
        self.learner.start(self.filters, self.generator)
        self._report: dict[str, Any] | None = None
        self.guard.count = 0
        self.memory = SampleMemory(
            features,
            boxes,
            size=params.sample_memory_size,
            learning_rate=params.learning_rate,
            init_samples_minimum_weight=params.init_samples_minimum_weight,
        )
        self.localize = self.make_localizer(features)
        self.usual_peak = UsualPeak()
        self._start_past()
        self.debug.start()
        return {"time": time.perf_counter() - start}

    def choose_patch_size(self) -> np.ndarray:
        """(h, w) of the network's input, pixels."""
        return np.full(2, self.params.image_sample_size)

    def sample_first_frame(self, image: np.ndarray) -> FirstFrameSamples:
        """Cuts and augments the first frame's patches."""
        return sample_first_frame(image, self.state, self.params, self.generator, self.device, self.patch_size)

    def learn_first_filter(self, features: Tensor, boxes: Tensor) -> Tensor:
        """Learns ``filters`` (1, C, k, k) from the first frame's features; returns the features for the memory."""
        self.filters = self.network.classifier.get_filter(features, boxes, self.params.net_opt_iter)
        return features

    def make_localizer(self, features: Tensor) -> Localizer:
        """Computes the score map's geometry for features (n, C, h, w) and creates its localiser."""
        params = self.params
        kernel = np.array(self.filters.shape[-2:])
        feature_size = np.array(features.shape[-2:])
        self.cell_pixels = self.patch_size / feature_size  # (h, w) of a score cell in patch pixels
        self.sample_offset = half_cell_offset(self.patch_size, feature_size, kernel)
        window = None
        if params.window_output:
            score_size = tuple((feature_size + 1 - kernel % 2).tolist())
            window = hann2d(score_size, convention=params.crop_convention)[0, 0].numpy()
        return localizer_for(params, window=window)

    def another(self) -> DimpTracker:
        return type(self)(self.params, self.network)

    @in_own_threads
    def track(self, image: np.ndarray, info: dict[str, Any] | None = None) -> dict[str, Any]:
        """Finds the target in the next frame; see :meth:`BaseTracker.track` for the output."""
        return super().track(image, info)

    @torch.no_grad()
    def extract(self, patches: Tensor) -> dict[str, Tensor]:
        """Backbone features by layer of patches (n, 3, h, w), 0..255."""
        return self.network.backbone_features(self.network.normalise(patches))

    @torch.no_grad()
    def stages(
        self, image: np.ndarray, info: dict[str, Any] | None = None
    ) -> Generator[Tensor, dict[str, Tensor], dict[str, Any]]:
        params, state = self.params, self.state
        self.frame_number += 1
        patch, patch_frame = self.cut_patch(image)
        backbone = yield patch
        features = self.sample_features(backbone)
        scores = self.score_map(features).cpu().numpy()  # (h, w)
        last_offset = state.pos - patch_frame.pos
        located = self.localize(scores, self.cell_pixels * patch_frame.scale, last_offset, state.size)
        relative_peak = self.usual_peak.relative(located.max_score)
        if located.flag == "not_found":
            self.usual_peak.lost = True
        else:
            if params.uncertain_part is not None and self.usual_peak.is_low(located.max_score, params.uncertain_part):
                located = replace(located, flag="uncertain")
            self.usual_peak.update(located.max_score)
            state.move_to(patch_frame.pos + located.translation, params.target_inside_ratio)
            if params.scale_step is not None and located.flag != "uncertain":
                backbone_at_scales = yield patches_at_scales(image, state, params, self.network, self.device)
                peaks = self.scores(self.sample_features(backbone_at_scales))
                factor = scale_factor(peaks, params.scale_step, params.scale_weight)
                state.resize(state.size * factor, rescale=True)
            if params.use_iou_net:
                self._refine(backbone, patch_frame, located.flag, relative_peak)
        output: dict[str, Any] = {
            "target_bbox": state.box,
            "score": located.max_score,
            "flag": located.flag,
            "translation": located.translation,
            "learner": self._learn(features, patch_frame, located.flag),
        }
        self._add_optional(output, located.scores)
        self.debug.show(self.frame_number, image, output, located.scores)
        return output

    def sample_features(self, backbone: dict[str, Tensor]) -> Tensor:
        """Features (1, C, h, w) that the filter is applied to and the memory stores."""
        return self.network.classification_features(backbone)

    def scores(self, features: Tensor) -> Tensor:
        """The filter's scores (n, h, w) of features (n, C, h, w)."""
        return self.network.classifier.classify(self.filters, features)

    def score_map(self, features: Tensor) -> Tensor:
        """The map (h, w) in which the target is localised."""
        params = self.params
        scores = preprocess(self.scores(features)[0], params.score_preprocess, self.network.extra_logit)
        return sum_around(scores, params.score_filter_ksz)

    def problem(self) -> FilterObjective:
        """The learning problem posed by the memory."""
        return self.problem_of(self.memory.features, self.memory.boxes, self.memory.weights)

    def problem_of(self, features: Tensor, boxes: Tensor, weights: Tensor) -> FilterObjective:
        """The learning problem posed by samples (n, C, h, w) with boxes (n, 4) in the patch and weights (n,)."""
        return self.network.objective(features, boxes, weights)

    def cut_patch(self, image: np.ndarray) -> tuple[Tensor, PatchFrame]:
        """Cuts the search patch; also returns its coordinate system."""
        params, state = self.params, self.state
        patch, crop = sample_patch(
            image,
            state.pos + self.sample_offset * state.scale,
            state.scale,
            self.patch_size,
            convention=params.crop_convention,
            border=params.border_mode,
            max_scale_change=params.patch_max_scale_change,
            device=self.device,
            fast=self.network.engine is not None,
        )
        exact = params.crop_convention == "exact"
        return patch, PatchFrame(crop.center, crop.scale(self.patch_size), self.patch_size, exact)

    def _refine(self, backbone: dict[str, Tensor], patch_frame: PatchFrame, flag: Flag, relative_peak: float) -> None:
        state, params = self.state, self.params
        box = patch_frame.box_in_patch(state.pos, state.size)
        refined = refine_box(box, self.target_iou.at(backbone), params, self.generator)
        if refined is None:
            return
        trust = trust_in_box(relative_peak) if params.refinement_by_confidence else 1.0
        refined = damped(box, refined, params.refinement_weight, trust)
        state.pos, size = patch_frame.target_in_frame(refined)
        state.resize(size, rescale=params.update_scale_when_uncertain or flag != "uncertain")

    def _learn(self, features: Tensor, patch_frame: PatchFrame, flag: Flag) -> Mapping[str, Any]:
        """Stores the sample and updates the filter, depending on flag and schedule; returns the learner's report.

        The update may run in the background; reading the report or `filters` then waits for it.
        """
        params = self.params
        if not params.update_classifier:
            return self._learner_report(0)
        early = self.frame_number <= params.early_frames and flag != "not_found"
        trusted = flag in TRUSTED or early
        if trusted:
            box = torch.tensor(patch_frame.box_in_patch(self.state.pos, self.state.size), dtype=torch.float32)
            box = box.to(self.device)
            rate = params.hard_negative_learning_rate if flag == "hard_negative" else None
            self.learner.notice(self.memory.add(features, box, rate))
            if params.output_past_margin:
                self.past.offer(self.frame_number, features, box)
        num_iter = 0
        if flag == "hard_negative":
            num_iter = params.net_opt_hn_iter
        elif early or (trusted or params.update_when_lost) and (self.frame_number - 1) % params.train_skipping == 0:
            num_iter = params.net_opt_update_iter
        if num_iter < 1:
            return self._learner_report(0)
        if self._can_learn_in_background():
            return self.start_in_background(lambda: self._update(num_iter))
        return self._update(num_iter)

    def _can_learn_in_background(self) -> bool:
        """Whether a core is idle and the report does not need `filters`, for which it would wait forever."""
        idle_core = self.network.engine is not None and self.device.type == "cpu" and self.computing["cpu_threads"] > 1
        return idle_core and not is_side_by_side() and not self.params.output_past_margin

    @torch.no_grad()
    def _update(self, num_iter: int) -> dict[str, Any]:
        """Updates the filter; returns the learner's report."""
        problem, before = self.problem(), self._filters
        self._filters = self.guard.choose(problem, before, self.learner.update(problem, before, num_iter))
        return self._learner_report(num_iter)

    def _start_past(self) -> None:
        self.past.start()
        self.past_margin: float | None = None
        if self.params.output_past_margin:
            self.past.offer(self.frame_number, self.memory.features[:1], self.memory.boxes[0])

    def _learner_report(self, num_iter: int) -> dict[str, Any]:
        updated = num_iter > 0
        if updated or self._report is None:  # otherwise it is unchanged, and asking would wait for the device
            self._report = self.learner.report()
        report = {"updated": updated, "num_iter": num_iter, **self._report, "rejected": self.guard.count}
        if self.params.output_past_margin:
            if updated or self.past_margin is None:  # otherwise the filter is unchanged
                stride = self.network.feature_stride
                self.past_margin = self.past.margin(self.frame_number, self.scores, self.filters.shape[-1], stride)
            report["past_margin"] = self.past_margin
        return report

    def _add_optional(self, output: dict[str, Any], scores: np.ndarray) -> None:
        if self.params.output_score_map:
            output["score_map"] = scores
        if self.params.output_presence:
            x, y, w, h = output["target_bbox"]
            height, width = self.state.image_size.tolist()
            output["present"] = output["flag"] != "not_found"
            output.update(xmin=x / width, xmax=(x + w) / width, ymin=y / height, ymax=(y + h) / height)
