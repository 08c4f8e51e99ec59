"""PrDiMP's classifier (Danelljan et al., 2020): a density over cells, learned by its Kullback-Leibler divergence.

With scores s of sample j, P_j = softmax(s_j) and a label density y_j around the target, the loss of one sequence is

    L(w) = sum_j q_j (log sum_k exp s_jk - sum_k y_jk s_jk) + reg |w|^2

which is the divergence of P_j from y_j up to a constant. Its curvature in the scores is ``q_j (diag P_j - P_j P_j^T)``.
"""
from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ltr.models.target_classifier.filter_objective import FilterObjective, of_samples
from ltr.models.target_classifier.filter_optimizer import FilterOptimizer
from ltr.models.target_classifier.objective import centre_offsets


def softmax_over_cells(scores: Tensor, extra_logit: float | None = None) -> Tensor:
    """Probabilities of all cells of maps (…, H', W').

    Args:
        scores: logits.
        extra_logit: logit of an additional outcome, "none of these cells"; the cells then sum to less than 1.
    """
    flat = scores.flatten(-2)
    return (flat - _log_sum_exp(flat, extra_logit)).exp().view_as(scores)


def _log_sum_exp(flat: Tensor, extra_logit: float | None) -> Tensor:
    total = flat.logsumexp(-1, keepdim=True)
    return total if extra_logit is None else torch.logaddexp(total, torch.full_like(total, extra_logit))


@dataclass(slots=True)
class DensityObjective(FilterObjective):
    """The loss above. As published, the gradient is that of the data term plus *half* the regularisation."""

    features: Tensor  # (S, N, C, H, W)
    label: Tensor  # y (S, N, H', W')
    sample_weight: Tensor  # q, expands to (S, N, 1, 1)
    regularisation: Tensor  # (1,) reg
    extra_logit: float | None = None  # see softmax_over_cells

    @property
    def sample_weights(self) -> Tensor:
        return self.sample_weight[0].flatten()

    def probabilities(self, scores: Tensor) -> Tensor:
        """P (S, N, H', W')."""
        return softmax_over_cells(scores, self.extra_logit)

    def data_loss(self, scores: Tensor) -> Tensor:
        total = _log_sum_exp(scores.flatten(-2), self.extra_logit)[..., 0]
        divergence = total - (self.label * scores).sum((-2, -1))  # (S, N)
        return (self.sample_weight[..., 0, 0] * divergence).sum(1)

    def score_gradient(self, scores: Tensor) -> Tensor:
        return self.sample_weight * (self.probabilities(scores) - self.label)

    def score_curvature(self, scores: Tensor, moved: Tensor) -> Tensor:
        probabilities = self.probabilities(scores)
        mean = (probabilities * moved).sum((-2, -1), keepdim=True)
        return self.sample_weight * probabilities * (moved - mean)

    def curvature(self, direction: Tensor, scores: Tensor, direction_scores: Tensor | None = None) -> Tensor:
        # Each sample's variance of the moved scores, clamped as published, since rounding can make it negative.
        moved = self.scores(direction) if direction_scores is None else direction_scores
        probabilities = self.probabilities(scores)
        mean = (probabilities * moved).sum((-2, -1), keepdim=True)
        variance = (probabilities * moved.square()).sum((-2, -1), keepdim=True) - mean.square()
        data = (self.sample_weight * variance.clamp(min=0)).sum((1, 2, 3))
        return data + self.regularisation * direction.square().sum((1, 2, 3))

    def input_weights(self, scores: Tensor) -> Tensor:
        """Column sums of A^T, where ``A A^T`` is the curvature in the scores: the linearised residuals' weights.

        With u = sqrt(P) and |u|^2 = rho, ``A = sqrt(q) diag(u) (I - c u u^T)`` has ``A A^T = q (diag P - P P^T)`` for
        ``c = (1 - sqrt(1 - rho)) / rho``, which is 1 for a softmax without an extra outcome.
        """
        probabilities = self.probabilities(scores)
        roots, c = probabilities.sqrt(), self._factor(probabilities)
        return self.sample_weight.sqrt() * (roots - c * probabilities * roots.sum((-2, -1), keepdim=True))

    def _factor(self, probabilities: Tensor) -> Tensor | float:
        """c of :meth:`input_weights`."""
        if self.extra_logit is None:
            return 1.0
        rho = probabilities.sum((-2, -1), keepdim=True)
        return (1 - (1 - rho).clamp(min=0).sqrt()) / rho

    def curvature_rows(self, scores: Tensor, kernel: int) -> Tensor:
        """A^T X with A from :meth:`input_weights`: windows minus a multiple of their mean, times sqrt(q P)."""
        probabilities, windows = self.probabilities(scores), self.windows(kernel)
        mean = self._factor(probabilities) * probabilities  # (1, 1, H', W')
        centred = windows - (mean.flatten() @ windows)
        return centred.mul_((self.sample_weight * probabilities).sqrt().flatten()[:, None])

    def samples(self, chosen: slice | Tensor) -> DensityObjective:
        values = (self.features, self.label, self.sample_weight)
        features, label, weight = (of_samples(value, chosen) for value in values)
        return DensityObjective(features, label, weight, self.regularisation, self.extra_logit)


class DensityOptimizer(FilterOptimizer):
    """Steepest descent with Newton step lengths on :class:`DensityObjective`, with two learned numbers.

    Args:
        init_step_length: factor on the Newton step.
        init_filter_reg: square root of the regularisation.
        min_filter_reg: lower bound on it.
        gauss_sigma: width of the label density in cells; 0 for a single cell.
        alpha_eps: see :class:`FilterOptimizer`, ``extra_curvature``.
        normalize_label: let the label sum to 1 over the map.
        label_threshold: label values not above this become 0.
        uni_weight: weight of a uniform density in the label.
        label_shrink: amount by which the label's sum falls below 1.
        softmax_reg: see :func:`softmax_over_cells`.
    """

    def __init__(
        self,
        num_iter: int = 5,
        feature_stride: int = 16,
        init_step_length: float = 1.0,
        init_filter_reg: float = 0.05,
        min_filter_reg: float = 0.05,
        gauss_sigma: float = 0.9,
        alpha_eps: float = 0.05,
        normalize_label: bool = True,
        label_threshold: float = 0.0,
        uni_weight: float | None = None,
        label_shrink: float = 0.0,
        softmax_reg: float | None = None,
        detach_length: float = math.inf,
    ) -> None:
        super().__init__(num_iter, feature_stride, extra_curvature=alpha_eps, detach_length=detach_length)
        self.log_step_length = nn.Parameter(torch.full((1,), math.log(init_step_length)))
        self.filter_reg = nn.Parameter(torch.full((1,), init_filter_reg))
        self.min_filter_reg = min_filter_reg
        self.gauss_sigma = gauss_sigma
        self.normalize_label = normalize_label
        self.label_threshold = label_threshold
        self.uni_weight = uni_weight or 0.0
        self.label_shrink = label_shrink
        self.softmax_reg = softmax_reg

    def label(self, boxes: Tensor, score_size: tuple[int, int], filter_size: int) -> Tensor:
        """Label density (S, N, H', W') of targets at ``boxes`` (S, N, 4), xywh in image pixels."""
        rows, columns = (
            self._profile(offset) for offset in centre_offsets(boxes, score_size, filter_size, self.feature_stride)
        )
        density = rows[..., :, None] * columns[..., None, :]
        density = torch.where(density > self.label_threshold, density, 0.0)
        if self.normalize_label:
            density = density / (density.sum((-2, -1), keepdim=True) + 1e-8)
        uniform = self.uni_weight / (score_size[0] * score_size[1])
        return (1 - self.label_shrink) * ((1 - self.uni_weight) * density + uniform)

    def _profile(self, offset: Tensor) -> Tensor:
        """The density along one axis (…, n) at the given offsets from the centre in cells."""
        if self.gauss_sigma == 0:
            nearest = offset.abs().argmin(-1, keepdim=True)
            return torch.zeros_like(offset).scatter_(-1, nearest, 1.0)
        scale = math.sqrt(2 * math.pi) * self.gauss_sigma
        return torch.exp(-0.5 * (offset / self.gauss_sigma).square()) / scale

    def step_factor(self) -> Tensor:
        return self.log_step_length.exp()

    def make_objective(
        self, features: Tensor, boxes: Tensor, score_size: tuple[int, int], filter_size: int, weight: Tensor
    ) -> DensityObjective:
        regularisation = self.filter_reg.square().clamp(min=self.min_filter_reg**2)
        label = self.label(boxes, score_size, filter_size)
        return DensityObjective(features, label, weight.to(features), regularisation, self.softmax_reg)
