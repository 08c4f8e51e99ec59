"""Steepest descent on an online learning problem: the base class of the DiMP family's optimisers."""
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
    """Record of an optimisation: the initial filters, those after every step, and their losses (S,)."""

    filters: list[Tensor] = field(default_factory=list)
    losses: list[Tensor] = field(default_factory=list)


class FilterOptimizer(nn.Module):
    """Defines the learning problem for any learner (:meth:`objective`) and implements the network's own learner.

    Subclasses define the loss. A step goes along the negative gradient -g; its length is a factor times
    ``|g|^2 / curvature``, which minimises the quadratic model in that direction.

    Args:
        extra_curvature: multiple of ``|g|^2`` added to the curvature, which shortens the steps.
        detach_length: number of steps after which the graph of the iterates is cut; infinite by default.
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
        """Builds the problem from features (S, N, C, H, W), boxes (S, N, 4) and weights (1 or S, 1 or N, 1, 1)."""

    @abstractmethod
    def step_factor(self) -> Tensor | float:
        """Factor on the step length."""

    def objective(
        self, features: Tensor, boxes: Tensor, filter_size: int, sample_weight: Tensor | None = None
    ) -> FilterObjective:
        """The learning problem of one or more sequences, for filters of side ``filter_size``.

        Features are (S, N, C, H, W), boxes xywh in image pixels (S, N, 4), weights (S, N) or None for 1/N each; the
        dimension S may be omitted for a single sequence.
        """
        if features.dim() == 4:
            features, boxes = features[None], boxes[None]
        if boxes.shape[:2] != features.shape[:2] or boxes.shape[-1] != 4:
            raise ValueError(f"boxes {tuple(boxes.shape)} do not fit features {tuple(features.shape)}: one xywh each")
        count = features.shape[1]
        if sample_weight is None:
            weight = torch.full((1, 1, 1, 1), 1 / count, dtype=torch.float64)  # rounds its root once, as published
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
        """Steepest descent from ``filters`` (S, C, k, k) for ``num_iter`` steps (default: the constructor's number).

        Samples are as in :meth:`objective`; ``trace`` receives every iterate and its loss (both differentiable).
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
        """One step of steepest descent from ``filters`` with their ``scores``; returns the new filters and scores."""
        gradient = problem.gradient(filters, scores)
        gradient_scores = problem.scores(gradient)
        squared_norm = gradient.square().sum((1, 2, 3))
        curvature = problem.curvature(gradient, scores, gradient_scores) + self.extra_curvature * squared_norm
        length = self.step_factor() * squared_norm / curvature.clamp(min=LEAST_CURVATURE)
        length = length.view(-1, 1, 1, 1)
        # Scores are linear in the filter, so the new ones need no further pass over the features.
        return filters - length * gradient, scores - length * gradient_scores

    @staticmethod
    def _record(trace: OptimizerTrace | None, problem: FilterObjective, filters: Tensor, scores: Tensor) -> None:
        if trace is not None:
            trace.filters.append(filters)
            trace.losses.append(problem.loss(filters, scores))
