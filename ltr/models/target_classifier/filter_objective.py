"""Interface between online learners and the learning problems of the different trackers.

Every tracker here learns a filter ``w`` from a loss of its scores ``s = features * w`` (correlation) plus a multiple of
``|w|^2``. The losses differ: squares with learned labels (DiMP), the Kullback-Leibler divergence of a density (PrDiMP),
squares with Gaussian labels (ATOM). Learners only use the gradient, the curvature and the weights of the linearised
residuals.
"""
from __future__ import annotations

from abc import ABC, abstractmethod

from torch import Tensor
from torch.nn import functional

from ltr.models.target_classifier.filtering import apply_filter, correlate_with_residual


class FilterObjective(ABC):
    """Loss of S sequences (one in a tracker) with N samples each."""

    __slots__ = ()
    features: Tensor  # (S, N, C, H, W)
    regularisation: Tensor  # (1,) factor of |w|^2

    @property
    @abstractmethod
    def sample_weights(self) -> Tensor:
        """Weight of each sample's loss in the first sequence (N,), or (1,) if all are equal."""

    @abstractmethod
    def data_loss(self, scores: Tensor) -> Tensor:
        """The loss without regularisation (S,)."""

    @abstractmethod
    def score_gradient(self, scores: Tensor) -> Tensor:
        """Gradient of the data term with respect to the scores (S, N, H', W')."""

    @abstractmethod
    def score_curvature(self, scores: Tensor, moved: Tensor) -> Tensor:
        """The data term's curvature matrix in the scores times a change ``moved`` of the scores (S, N, H', W')."""

    @abstractmethod
    def input_weights(self, scores: Tensor) -> Tensor:
        """Weights (S, N, H', W') of the windows in the sum of all linearised residuals' rows (Eq. mean3)."""

    @abstractmethod
    def curvature_rows(self, scores: Tensor, kernel: int) -> Tensor:
        """Rows R (b, p) with R^T R = X^T H X, for a problem with a single sample and scores (1, 1, H', W').

        X are the sample's windows under a filter of side ``kernel``, H is the curvature in its scores.
        """

    @abstractmethod
    def samples(self, chosen: slice | Tensor) -> FilterObjective:
        """The problem restricted to some samples: a slice (no copies) or indices (n,)."""

    def sample(self, index: int) -> FilterObjective:
        """The problem restricted to one sample, without copies."""
        return self.samples(slice(index, index + 1))

    def scores(self, filters: Tensor) -> Tensor:
        """s (S, N, H', W') of filters (S, C, k, k). Linear in the filters."""
        return apply_filter(self.features, filters)

    def pull(self, maps: Tensor, kernel: int) -> Tensor:
        """Adjoint of :meth:`scores`: filters (S, C, k, k) from maps (S, N, H', W')."""
        return correlate_with_residual(self.features, self.whole_maps(maps, kernel), kernel)

    def windows(self, kernel: int) -> Tensor:
        """The windows (n, p) that a filter of side ``kernel`` sees in the first sample's full correlation."""
        return functional.unfold(self.features[0, :1], kernel, padding=kernel // 2)[0].T

    def whole_maps(self, maps: Tensor, kernel: int) -> Tensor:
        """Maps (…, H', W') padded to the size of the full correlation, with zeros at positions without scores."""
        return maps

    def loss(self, filters: Tensor, scores: Tensor) -> Tensor:
        """Data term and regularisation (S,)."""
        return self.data_loss(scores) + self.regularisation * filters.square().sum((1, 2, 3))

    def gradient(self, filters: Tensor, scores: Tensor) -> Tensor:
        """Gradient (S, C, k, k) for descent methods; may be that of half the loss, see the subclasses."""
        return self.pull(self.score_gradient(scores), filters.shape[-1]) + self.regularisation * filters

    def curvature(self, direction: Tensor, scores: Tensor, direction_scores: Tensor | None = None) -> Tensor:
        """Curvature (S,) matching :meth:`gradient` along a direction (S, C, k, k) in filter space.

        ``scores`` are those of the current filters; ``direction_scores`` can be passed if already known.
        """
        if direction_scores is None:
            direction_scores = self.scores(direction)
        data = (direction_scores * self.score_curvature(scores, direction_scores)).sum((1, 2, 3))
        return data + self.regularisation * direction.square().sum((1, 2, 3))

    def curvature_product(self, direction: Tensor, scores: Tensor) -> Tensor:
        """The full curvature matrix times a direction (S, C, k, k)."""
        data = self.pull(self.score_curvature(scores, self.scores(direction)), direction.shape[-1])
        return data + self.regularisation * direction


class SquaredObjective(FilterObjective):
    """Squares of ``v (act(s) - y)``. Gradient and curvature are those of half the loss, as in published optimisers."""

    __slots__ = ()
    label: Tensor  # y (S, N, H', W')
    weight: Tensor  # v, expands to the label's shape

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
        """v: the paper's residuals are linear in the filter, so the activation's derivative does not enter."""
        return self.weight.expand_as(scores)


def of_samples(values: Tensor, chosen: slice | Tensor) -> Tensor:
    """Values (S, N, …) of the chosen samples; values (S, 1, …) that all samples share are returned unchanged."""
    return values[:, chosen] if values.shape[1] > 1 else values
