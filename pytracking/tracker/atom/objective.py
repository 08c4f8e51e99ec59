"""ATOM's online learning problem: least squares with Gaussian labels, in the filter or in filter and projection.

Scores are ``s = (P x) * w``: P projects the backbone's channels to a few, w is the filter. The loss is

    L(w, P) = sum_j q_j |act(s_j) - y_j|^2 + reg |w|^2 + reg_P |P|^2,    act(s) = s for s >= 0, a (exp(s / a) - 1) below

On the first frame it is minimised in both. Afterwards P is fixed, and w is learnt from the projected features like
DiMP's filter.
"""
from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from ltr.models.target_classifier import SquaredObjective, of_samples


def project(features: Tensor, projection: Tensor) -> Tensor:
    """Projects features (N, C, H, W) to (N, c, H, W) with a projection (c, C)."""
    return (projection @ features.flatten(2)).unflatten(2, features.shape[2:])


@dataclass(slots=True)
class AtomObjective(SquaredObjective):
    """L as a function of the filter, for projected features; gradient and curvature are those of L/2.

    Scores have the features' size: even filters omit the last row and column of the full correlation.
    """

    features: Tensor  # (1, N, c, H, W)
    label: Tensor  # y (1, N, H, W)
    weight: Tensor  # sqrt(q) (1, N, 1, 1)
    regularisation: Tensor  # reg (1,)
    slope_length: float | None  # a; None for no activation

    @property
    def sample_weights(self) -> Tensor:
        return self.weight.flatten().square()

    def activation(self, scores: Tensor) -> Tensor:
        if self.slope_length is None:
            return scores
        return torch.where(scores < 0, self.slope_length * torch.expm1(scores.clamp(max=0) / self.slope_length), scores)

    def derivative(self, scores: Tensor) -> Tensor:
        if self.slope_length is None:
            return torch.ones_like(scores)
        return torch.exp(scores.clamp(max=0) / self.slope_length)

    def scores(self, filters: Tensor) -> Tensor:
        height, width = self.features.shape[-2:]
        return SquaredObjective.scores(self, filters)[..., :height, :width]

    def whole_maps(self, maps: Tensor, kernel: int) -> Tensor:
        missing = 1 - kernel % 2
        return F.pad(maps, (0, missing, 0, missing)) if missing else maps

    def samples(self, chosen: slice | Tensor) -> AtomObjective:
        features, label, weight = (of_samples(values, chosen) for values in (self.features, self.label, self.weight))
        return AtomObjective(features, label, weight, self.regularisation, self.slope_length)


@dataclass(slots=True)
class JointObjective:
    """L as a function of filter and projection; vectors hold the filter's entries, then the projection's."""

    features: Tensor  # of the backbone (N, C, H, W)
    label: Tensor  # y (N, H, W)
    sample_weight: Tensor  # q (N,)
    filter_reg: float  # reg
    projection_reg: float  # reg_P
    slope_length: float | None  # a; None for no activation

    def with_projection(self, projection: Tensor) -> AtomObjective:
        """The problem in the filter for a fixed projection (c, C)."""
        weight = self.sample_weight.view(1, -1, 1, 1).to(self.features).sqrt()
        regularisation = self.features.new_tensor([self.filter_reg])
        features = project(self.features, projection)
        return AtomObjective(features[None], self.label[None], weight, regularisation, self.slope_length)

    def linearise(self, filters: Tensor, projection: Tensor) -> Linearisation:
        """The Gauss-Newton model around filters (1, c, k, k) and a projection (c, C)."""
        return Linearisation(self, filters, projection)

    def loss(self, filters: Tensor, projection: Tensor) -> Tensor:
        """L (1,)."""
        problem = self.with_projection(projection)
        return problem.loss(filters, problem.scores(filters)) + self.projection_reg * projection.square().sum()

    def precondition(self, vector: Tensor, filter_count: int) -> Tensor:
        """Divides each part of a vector by its regularisation, the curvature in directions without data."""
        return torch.cat([vector[:filter_count] / self.filter_reg, vector[filter_count:] / self.projection_reg])


class Linearisation:
    """Gradient of L/2 and products with its Gauss-Newton matrix at one point."""

    def __init__(self, joint: JointObjective, filters: Tensor, projection: Tensor) -> None:
        self.joint, self.filters, self.projection = joint, filters, projection
        self.problem = joint.with_projection(projection)
        self.scores = self.problem.scores(filters)

    def gradient(self) -> Tensor:
        pulled = self._pull(self.problem.score_gradient(self.scores))
        return pulled + self._regularise(torch.cat([self.filters.flatten(), self.projection.flatten()]))

    def product(self, vector: Tensor) -> Tensor:
        moved = self.problem.score_curvature(self.scores, self._scores_of(vector))
        return self._pull(moved) + self._regularise(vector)

    def split(self, vector: Tensor) -> tuple[Tensor, Tensor]:
        """Splits a vector into filter and projection."""
        count = self.filters.numel()
        return vector[:count].view_as(self.filters), vector[count:].view_as(self.projection)

    def _scores_of(self, vector: Tensor) -> Tensor:
        """The change (1, N, H, W) of the scores, to first order."""
        filters, projection = self.split(vector)
        return self.problem.scores(filters) + self.joint.with_projection(projection).scores(self.filters)

    def _pull(self, maps: Tensor) -> Tensor:
        """Adjoint of :meth:`_scores_of`."""
        kernel = self.filters.shape[-1]
        whole = self.problem.whole_maps(maps, kernel)[0, :, None]  # (N, 1, H', W')
        back = F.conv_transpose2d(whole, self.filters, padding=kernel // 2)  # (N, c, H, W), in the projected features
        in_projection = (back.flatten(2) @ self.joint.features.flatten(2).transpose(1, 2)).sum(0)
        return torch.cat([self.problem.pull(maps, kernel).flatten(), in_projection.flatten()])

    def _regularise(self, vector: Tensor) -> Tensor:
        count = self.filters.numel()
        return torch.cat([self.joint.filter_reg * vector[:count], self.joint.projection_reg * vector[count:]])
