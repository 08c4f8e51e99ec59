"""Steepest descent on an online learning problem: what the optimisers of the DiMP family have in common."""
from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from ltr.models.target_classifier.filter_objective import FilterObjective
from ltr.models.target_classifier.filtering import score_length

LEAST_CURVATURE = 1e-8


@dataclass(slots=True)
class OptimizerTrace:
    """What happened: filters before the first and after every step, and their losses (S,), where asked for."""

    filters: list[Tensor] = field(default_factory=list)
    losses: list[Tensor] = field(default_factory=list)


class FilterOptimizer(nn.Module):
    """States the learning problem for any learner (:meth:`objective`), and is the network's own learner.

    Subclasses say what the loss is. A step goes along the gradient g, by the length ``|g|^2 / curvature`` at which the
    quadratic model along it is lowest, times a factor.

    Args:
        extra_curvature: added to the curvature for each unit of ``|g|^2``: steps are shorter than the model's.
        detach_length: cut the graph of the iterates every this many steps; infinite by default.
    """

    def __init__(
        self, num_iter: int, feature_stride: int, *, extra_curvature: float = 0.0, detach_length: float = math.inf
    ) -> None:
        super().__init__()
        self.num_iter = num_iter
        self.feature_stride = feature_stride
        self.extra_curvature = extra_curvature
        self.detach_length = detach_length

    @abstractmethod
    def make_objective(
        self, features: Tensor, boxes: Tensor, score_size: tuple[int, int], filter_size: int, weight: Tensor
    ) -> FilterObjective:
        """The problem of features (S, N, C, H, W), boxes (S, N, 4) and weights (1 or S, 1 or N, 1, 1)."""

    @abstractmethod
    def step_factor(self) -> Tensor | float:
        """Factor on the step length."""

    def objective(
        self, features: Tensor, boxes: Tensor, filter_size: int, sample_weight: Tensor | None = None
    ) -> FilterObjective:
        """The learning problem of one or more sequences, for filters of side ``filter_size``.

        Features are (S, N, C, H, W), boxes xywh in image pixels (S, N, 4), weights (S, N), or 1/N each where they are
        None; one sequence may come without S.
        """
        if features.dim() == 4:
            features, boxes = features[None], boxes[None]
        if boxes.shape[:2] != features.shape[:2] or boxes.shape[-1] != 4:
            raise ValueError(f"boxes {tuple(boxes.shape)} do not fit features {tuple(features.shape)}: one xywh each")
        count = features.shape[1]
        if sample_weight is None:
            weight = torch.full((1, 1, 1, 1), 1 / count, dtype=torch.float64)  # its root is rounded once, as published
        else:
            weight = sample_weight.reshape(-1, count, 1, 1)
        height, width = features.shape[-2:]
        score_size = (score_length(height, filter_size), score_length(width, filter_size))
        return self.make_objective(features, boxes.to(features.dtype), score_size, filter_size, weight)

    def forward(
        self,
        filters: Tensor,
        features: Tensor,
        boxes: Tensor,
        sample_weight: Tensor | None = None,
        num_iter: int | None = None,
        trace: OptimizerTrace | None = None,
    ) -> Tensor:
        """Steepest descent from ``filters`` (S, C, k, k), ``num_iter`` steps or the constructor's number.

        Samples are those of :meth:`objective`; ``trace`` is filled with every iterate and its loss (differentiable).
        """
        problem = self.objective(features, boxes, filters.shape[-1], sample_weight)
        scores = problem.scores(filters)
        self._record(trace, problem, filters, scores)
        for step in range(self.num_iter if num_iter is None else num_iter):
            if step and step % self.detach_length == 0:
                filters, scores = filters.detach(), scores.detach()
            filters, scores = self.step(problem, filters, scores)
            self._record(trace, problem, filters, scores)
        return filters

    def step(self, problem: FilterObjective, filters: Tensor, scores: Tensor) -> tuple[Tensor, Tensor]:
        """One step of steepest descent from ``filters`` with their ``scores``; the same of the new filters."""
        gradient = problem.gradient(filters, scores)
        gradient_scores = problem.scores(gradient)
        squared_norm = gradient.square().sum((1, 2, 3))
        curvature = problem.curvature(gradient, scores, gradient_scores) + self.extra_curvature * squared_norm
        length = self.step_factor() * squared_norm / curvature.clamp(min=LEAST_CURVATURE)
        length = length.view(-1, 1, 1, 1)
        # Scores are linear in the filter: those of the new filter cost no further pass over the features.
        return filters - length * gradient, scores - length * gradient_scores

    @staticmethod
    def _record(trace: OptimizerTrace | None, problem: FilterObjective, filters: Tensor, scores: Tensor) -> None:
        if trace is not None:
            trace.filters.append(filters)
            trace.losses.append(problem.loss(filters, scores))
