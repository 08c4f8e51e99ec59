"""The RT-MDNet tracker (Jung et al., 2018)."""
import copy
import time
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ltr.errors import UserError
from pytracking.tracker.base import BaseTracker
from pytracking.tracker.rtmdnet.box_regressor import BoxRegressor
from pytracking.tracker.rtmdnet.first_frame import (
    POSITIVES,
    SceneSamples,
    choose,
    samples_in_jittered_scenes,
    samples_in_replicas,
)
from pytracking.tracker.rtmdnet.frame_memory import FrameMemory, SampleSet
from pytracking.tracker.rtmdnet.head import ClassifierHead
from pytracking.tracker.rtmdnet.head_learner import HeadLearner, LearningReport
from pytracking.tracker.rtmdnet.network import load_mdnet
from pytracking.tracker.rtmdnet.params import RtmdnetParams
from pytracking.tracker.rtmdnet.roi_features import RoIFeatures
from pytracking.tracker.rtmdnet.sampling import SampleDistribution, draw_around
from pytracking.tracker.rtmdnet.scene import SceneGeometry, enclosing_box, ensure_visible, scenes_of
from pytracking.utils.boxes import check_initial_box
from pytracking.utils.device import select_device

FRAME_NEGATIVES = SampleDistribution(kind="uniform", translation=1.5, scale=1.2)


class RtmdnetTracker(BaseTracker):
    """Scores random boxes around the last target; learns regularly, and additionally after a failure.

    The trackers of the family differ only in the class of their online learner.
    """

    learner_class: type[HeadLearner] = HeadLearner

    def __init__(self, params: RtmdnetParams) -> None:
        super().__init__(params)
        if params.debug:
            raise UserError(f"debug={params.debug}: the RT-MDNet family has no debug views, only the DiMP family has")
        self.network = load_mdnet(params.network_file, select_device(params.device), params.adaptive_align)
        self.geometry = SceneGeometry(
            object_size=self.params.object_size,
            padding=self.params.padding,
            receptive_field=float(self.network.receptive_field),
            smallest_side=self.network.receptive_field + 2 * self.network.stride,
        )
        self.features = RoIFeatures(self.network, self.geometry, self.params.scenes_per_batch)

    def initialize(self, image: np.ndarray, info: dict[str, Any]) -> dict[str, Any]:
        """Starts on ``info["init_bbox"]``; ``info["seed"]`` (default 0) makes the run reproducible."""
        started = time.perf_counter()
        seed = int(info.get("seed") or 0)
        self.start_randomness(seed)
        self.target = check_initial_box(info["init_bbox"], image.shape[:2], "info['init_bbox']")
        self.learner = self.learner_class(self.new_head(), self.params, self.rng)
        self.positives = FrameMemory(self.params.long_term, self.params.frame_positives)
        self.negatives = FrameMemory(self.params.short_term, self.params.frame_negatives)
        self.translation = self.params.search_translation
        self.frame_number = 0
        report = self._learn_first_frame(image)
        return {"time": time.perf_counter() - started, "learner": self._describe("initial", report)}

    def start_randomness(self, seed: int) -> None:
        """Seeds all random choices from here on."""
        self.rng = np.random.default_rng(seed)  # samples and the order in which they are learnt
        self.generator = torch.Generator().manual_seed(seed)  # dropout and the initial last layer

    def new_head(self) -> ClassifierHead:
        """A trainable copy of the network's last layers."""
        if self.params.draw_last_layer:
            self.network.reset_branch(generator=self.generator)
        layers = self.network.layers
        linear = [layers.fc4[0], layers.fc5[1], self.network.branches[0][1]]
        return ClassifierHead([copy.deepcopy(layer) for layer in linear], layers.fc5[0].p, self.generator)

    def _learn_first_frame(self, frame: np.ndarray) -> LearningReport:
        params, image = self.params, self.features.image(frame)
        sources = [samples_in_jittered_scenes, samples_in_replicas][: 2 if params.replicas else 1]
        drawn = [draw(self.rng, self.target, frame.shape[:2], params, self.geometry) for draw in sources]
        table, (positives, negatives, box_samples) = self._extract_together(image, drawn)
        report = self.learner.learn_initially(SampleSet(table, positives), SampleSet(table, negatives))
        self.regressor = BoxRegressor(
            penalty=params.box_penalty, overlap_range=params.box_overlap, area_range=params.box_area
        )
        chosen = choose(self.rng, len(box_samples), params.box_samples)
        boxes = np.concatenate([each.boxes[2] for each in drawn])[chosen]
        self.regressor.fit(table[box_samples[torch.from_numpy(chosen)]], boxes, self.target)
        for memory, rows in ((self.positives, positives), (self.negatives, negatives)):
            memory.add(table[rows[torch.from_numpy(choose(self.rng, len(rows), memory.samples))]])
        return report

    def _extract_together(self, image: Tensor, drawn: list[SceneSamples]) -> tuple[Tensor, list[Tensor]]:
        """Features of all samples as one table (n, d), and the rows of the positives, negatives and box samples."""
        counts = [count for each in drawn for count in each.counts]
        table = self.features.rows(sum(counts))
        for each, out in zip(drawn, table.split([sum(each.counts) for each in drawn]), strict=True):
            self.features.extract(image, each.scenes, np.concatenate(each.boxes), np.concatenate(each.owners), out)
        rows = torch.arange(len(table), device=table.device).split(counts)
        return table, [torch.cat(rows[kind::3]) for kind in range(3)]

    def track(self, image: np.ndarray, info: dict[str, Any] | None = None) -> dict[str, Any]:
        """Finds the target, stores the frame's samples if it was found, and updates the classifier when due."""
        self.frame_number += 1
        tensor = self.features.image(image)
        score, found, box = self._find(tensor, image.shape[:2])
        if found:
            self._remember(tensor, image.shape[:2])
        kind, report = self._update(found)
        return {
            "target_bbox": [float(value) for value in box],
            "score": score,
            "flag": "normal" if found else "not_found",
            "learner": self._describe(kind, report),
        }

    def _find(self, image: Tensor, image_size: tuple[int, int]) -> tuple[float, bool, np.ndarray]:
        """Returns the target's score, whether it was found, and its box, which is regressed if it was found."""
        params = self.params
        around = SampleDistribution(
            kind="gaussian", translation=self.translation, scale=params.search_scale, inside=True
        )
        samples = draw_around(self.rng, around, self.target, params.search_samples, image_size)
        features = self._features_of(image, samples, samples, image_size)
        top_scores, top = self.learner.head.scores(features).topk(params.top_samples)
        best = samples[top.cpu().numpy()]
        score = float(top_scores.mean())
        found = score > params.success_threshold
        self.target = best.mean(axis=0)
        self.translation = params.search_translation if found else params.lost_translation
        box = self.regressor.refine(features[top], best, image_size).mean(axis=0) if found else self.target
        return score, found, box

    def _features_of(
        self, image: Tensor, samples: np.ndarray, enclosed: np.ndarray, image_size: tuple[int, int]
    ) -> Tensor:
        """Features of the samples in the scene that encloses the samples ``enclosed``."""
        box = ensure_visible(enclosing_box(enclosed, self.params.padding), image_size)
        scene = scenes_of(box, self.target[2:], self.geometry)
        return self.features.extract(image, scene, samples, np.zeros(len(samples), dtype=np.int64))

    def _remember(self, image: Tensor, image_size: tuple[int, int]) -> None:
        params = self.params
        positives = draw_around(
            self.rng, POSITIVES, self.target, params.frame_positives, image_size,
            overlap_range=params.frame_positive_overlap,
        )  # fmt: skip
        negatives = draw_around(
            self.rng, FRAME_NEGATIVES, self.target, params.frame_negatives, image_size,
            overlap_range=params.frame_negative_overlap,
        )  # fmt: skip
        samples = np.concatenate([positives, negatives])
        if not len(samples):
            return
        features = self._features_of(image, samples, negatives if len(negatives) else positives, image_size)
        self.positives.add(features[: len(positives)])
        self.negatives.add(features[len(positives) :])

    def _update(self, found: bool) -> tuple[str, LearningReport | None]:
        params = self.params
        if not found:
            recent = self.positives.last(params.short_term)
            return "occasional", self.learner.update_occasionally(recent, self.negatives.last())
        if self.frame_number % params.update_interval == 0:
            return "regular", self.learner.update_regularly(self.positives.last(), self.negatives.last())
        return "none", None

    def _describe(self, kind: str, report: LearningReport | None) -> dict[str, Any]:
        """The output's ``learner``: the keys that all trackers report, and the kind of update."""
        done = LearningReport(loss=None) if report is None else report
        state = {"updated": done.iterations > 0, "num_iter": done.iterations, "loss": done.loss, "kind": kind}
        return state | self.learner.report()
