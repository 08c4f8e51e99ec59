"""What an online learner needs to know of a learning problem, whatever the tracker.

Every tracker here learns a filter ``w`` from a loss of its scores ``s = features * w`` (correlation) and a multiple of
``|w|^2``. The trackers differ in the loss: learned labels and squares (DiMP), a density and the Kullback-Leibler
divergence (PrDiMP), Gaussian labels and squares (ATOM). A learner sees gradient, curvature and the weights of the
linearised residuals, and none of that.
"""
from __future__ import annotations

from abc import ABC, abstractmethod

from torch import Tensor
from torch.nn import functional

from ltr.models.target_classifier.filtering import apply_filter, correlate_with_residual


class FilterObjective(ABC):
    """Loss of S sequences (one in a tracker) of N samples each."""

    __slots__ = ()
    features: Tensor  # (S, N, C, H, W)
    regularisation: Tensor  # (1,) factor of |w|^2

    @property
    @abstractmethod
    def sample_weights(self) -> Tensor:
        """(N,) the factor of each sample's loss in the first sequence, or (1,) where all have the same."""

    @abstractmethod
    def data_loss(self, scores: Tensor) -> Tensor:
        """The loss without regularisation (S,)."""

    @abstractmethod
    def score_gradient(self, scores: Tensor) -> Tensor:
        """Gradient of the data term in the scores (S, N, H', W')."""

    @abstractmethod
    def score_curvature(self, scores: Tensor, moved: Tensor) -> Tensor:
        """The data term's curvature matrix in the scores, times a change of the scores (S, N, H', W')."""

    @abstractmethod
    def input_weights(self, scores: Tensor) -> Tensor:
        """Weights (S, N, H', W') of the windows in the sum of all linearised residuals' rows (Eq. mean3)."""

    @abstractmethod
    def curvature_rows(self, scores: Tensor, kernel: int) -> Tensor:
        """New rows R (b, p) with R^T R = X^T H X, for a problem of one sample with scores (1, 1, H', W').

        X are its windows under a filter of side ``kernel``, H is the curvature in its scores.
        """

    @abstractmethod
    def samples(self, chosen: slice | Tensor) -> FilterObjective:
        """The problem of some samples alone: of a slice without copies, or of indices (n,)."""

    def sample(self, index: int) -> FilterObjective:
        """The problem of one sample alone, without copies."""
        return self.samples(slice(index, index + 1))

    def scores(self, filters: Tensor) -> Tensor:
        """s (S, N, H', W') of filters (S, C, k, k). Linear in the filters."""
        return apply_filter(self.features, filters)

    def pull(self, maps: Tensor, kernel: int) -> Tensor:
        """Adjoint of :meth:`scores`: filters (S, C, k, k) from maps (S, N, H', W')."""
        return correlate_with_residual(self.features, self.whole_maps(maps, kernel), kernel)

    def windows(self, kernel: int) -> Tensor:
        """What a filter of this side sees at each position of the first sample's whole correlation, (n, p)."""
        return functional.unfold(self.features[0, :1], kernel, padding=kernel // 2)[0].T

    def whole_maps(self, maps: Tensor, kernel: int) -> Tensor:
        """Maps (…, H', W') at the size of the whole correlation, zero where :meth:`scores` leaves positions out."""
        return maps

    def loss(self, filters: Tensor, scores: Tensor) -> Tensor:
        """Data term and regularisation (S,)."""
        return self.data_loss(scores) + self.regularisation * filters.square().sum((1, 2, 3))

    def gradient(self, filters: Tensor, scores: Tensor) -> Tensor:
        """What a descent follows (S, C, k, k)."""
        return self.pull(self.score_gradient(scores), filters.shape[-1]) + self.regularisation * filters

    def curvature(self, direction: Tensor, scores: Tensor, direction_scores: Tensor | None = None) -> Tensor:
        """Curvature (S,) that belongs to :meth:`gradient` along a direction (S, C, k, k) in filter space.

        ``scores`` are those of the current filters; ``direction_scores`` where the caller has them already.
        """
        if direction_scores is None:
            direction_scores = self.scores(direction)
        data = (direction_scores * self.score_curvature(scores, direction_scores)).sum((1, 2, 3))
        return data + self.regularisation * direction.square().sum((1, 2, 3))

    def curvature_product(self, direction: Tensor, scores: Tensor) -> Tensor:
        """The whole curvature matrix times a direction (S, C, k, k)."""
        data = self.pull(self.score_curvature(scores, self.scores(direction)), direction.shape[-1])
        return data + self.regularisation * direction


class SquaredObjective(FilterObjective):
    """Squares of ``v (act(s) - y)``. Gradient and curvature are those of half the loss, as in published optimisers."""

    __slots__ = ()
    label: Tensor  # y (S, N, H', W')
    weight: Tensor  # v, of a shape that expands to that

    @abstractmethod
    def activation(self, scores: Tensor) -> Tensor:
        """act(s)."""

    @abstractmethod
    def derivative(self, scores: Tensor) -> Tensor:
        """act'(s)."""

    def residual(self, scores: Tensor) -> Tensor:
        """v (act(s) - y)."""
        return self.weight * (self.activation(scores) - self.label)

    def data_loss(self, scores: Tensor) -> Tensor:
        return self.residual(scores).square().sum((1, 2, 3))

    def score_gradient(self, scores: Tensor) -> Tensor:
        return self.derivative(scores) * self.weight * self.residual(scores)

    def score_curvature(self, scores: Tensor, moved: Tensor) -> Tensor:
        return (self.derivative(scores) * self.weight).square() * moved

    def curvature_rows(self, scores: Tensor, kernel: int) -> Tensor:
        weights = self.whole_maps(self.derivative(scores) * self.weight, kernel).flatten()
        used = weights.nonzero().flatten()
        return self.windows(kernel)[used].mul_(weights[used, None])

    def input_weights(self, scores: Tensor) -> Tensor:
        """v: the paper's loss is linear in the filter, so the activation's derivative does not enter."""
        return self.weight.expand_as(scores)


def of_samples(values: Tensor, chosen: slice | Tensor) -> Tensor:
    """The chosen samples' part of values (S, N, …); values that all samples share stay."""
    return values[:, chosen] if values.shape[1] > 1 else values
