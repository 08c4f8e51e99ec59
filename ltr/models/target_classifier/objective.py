"""The online learning problem of DiMP, independent of the learner.

With scores ``s = features * filter`` (correlation) the loss of one sequence is

    L(w) = sum_j |v_j (act(s_j) - y_j)|^2 + reg |w|^2,     act(s) = (1 - m)/2 |s| + (1 + m)/2 s

over samples j, where label y, target mask m and spatial weight are learned functions of the distance to the target's
centre, and ``v_j = sqrt(sample weight) * spatial weight``. Any learner can minimise it: steepest descent, gradient
descent, recursive least squares.
"""
from __future__ import annotations

from dataclasses import dataclass, field, fields

import torch
from torch import Tensor

from ltr.models.target_classifier.filter_objective import SquaredObjective, of_samples


@dataclass(frozen=True, slots=True)
class ObjectiveMaps:
    """Maps (S, N, H', W') over the score cells that depend on the target's position."""

    label: Tensor
    mask: Tensor
    spatial_weight: Tensor


@dataclass(slots=True)
class TargetObjective(SquaredObjective):
    """The loss above. Gradient and curvature are those of L/2; the factor 2 cancels in the published step."""

    features: Tensor  # (S, N, C, H, W)
    maps: ObjectiveMaps
    root_sample_weight: Tensor  # square roots of the sample weights (S, N, 1, 1)
    regularisation: Tensor  # (1,) reg
    weight: Tensor = field(init=False)  # v (S, N, H', W')
    _slopes: tuple[Tensor, Tensor] = field(init=False)  # (1 + m)/2 and (1 - m)/2

    def __post_init__(self) -> None:
        self.weight = self.root_sample_weight * self.maps.spatial_weight
        half = 0.5 * self.maps.mask
        self._slopes = 0.5 + half, 0.5 - half

    @property
    def label(self) -> Tensor:
        """y (S, N, H', W')."""
        return self.maps.label

    @property
    def mask(self) -> Tensor:
        """m (S, N, H', W'): 1 where scores are compared as they are, 0 where only positive scores count."""
        return self.maps.mask

    @property
    def sample_weights(self) -> Tensor:
        return self.root_sample_weight[0].flatten().square()

    def activation(self, scores: Tensor) -> Tensor:
        """act(s)."""
        return self.derivative(scores) * scores

    def derivative(self, scores: Tensor) -> Tensor:
        """act'(s), with (1 + m)/2 at s = 0."""
        middle, change = self._slopes
        return torch.addcmul(middle, change, scores.sign())

    def score_gradient(self, scores: Tensor) -> Tensor:
        slope = self.derivative(scores)
        return slope * self.weight.square() * (slope * scores - self.label)

    def curvature(self, direction: Tensor, scores: Tensor, direction_scores: Tensor | None = None) -> Tensor:
        # Squares of the moved residuals, as published: the general product would round differently, which steepest
        # descent amplifies.
        if direction_scores is None:
            direction_scores = self.scores(direction)
        moved = self.derivative(scores) * self.weight * direction_scores
        return moved.square().sum((1, 2, 3)) + self.regularisation * direction.square().sum((1, 2, 3))

    def samples(self, chosen: slice | Tensor) -> TargetObjective:
        maps = ObjectiveMaps(*(of_samples(getattr(self.maps, item.name), chosen) for item in fields(ObjectiveMaps)))
        root = of_samples(self.root_sample_weight, chosen)
        return TargetObjective(of_samples(self.features, chosen), maps, root, self.regularisation)


def centre_distance(boxes: Tensor, size: tuple[int, int], filter_size: int, feature_stride: int) -> Tensor:
    """Distance in cells (S, N, *size) of every score cell from the centres of boxes xywh (S, N, 4).

    Odd filters see cell centres, even ones cell corners.
    """
    rows, columns = centre_offsets(boxes, size, filter_size, feature_stride)
    return torch.hypot(rows[..., :, None], columns[..., None, :])


def centre_offsets(
    boxes: Tensor, size: tuple[int, int], filter_size: int, feature_stride: int
) -> tuple[Tensor, Tensor]:
    """Offsets in cells of the score map's rows (S, N, rows) and columns (S, N, columns) from the target's centre."""
    centre = (boxes[..., :2] + 0.5 * boxes[..., 2:]) / feature_stride - 0.5 * (filter_size % 2)  # (S, N, 2), x then y
    rows = torch.arange(size[0], dtype=boxes.dtype, device=boxes.device)
    columns = torch.arange(size[1], dtype=boxes.dtype, device=boxes.device)
    return rows - centre[..., 1, None], columns - centre[..., 0, None]


def gaussian(distance: Tensor, sigma: float | Tensor) -> Tensor:
    """``exp(-d^2 / (2 sigma^2))``."""
    return torch.exp(-0.5 * (distance / sigma).square())


def interpolate_bins(table: Tensor, position: Tensor) -> Tensor:
    """Evaluates T piecewise linear functions at ``position`` (...), in units of bins; constant past the last bin.

    ``table`` (T, bins) holds the functions' values at 0, 1, 2, … The published networks use a 1x1 convolution of a map
    with one triangular channel per bin; interpolating between two neighbouring bins is equivalent without that map.
    """
    last = table.shape[1] - 1
    clamped = position.clamp(0, last)
    lower = clamped.long().clamp(max=last - 1)
    index = lower.flatten()
    values, following = (table.index_select(1, bins).unflatten(1, position.shape) for bins in (index, index + 1))
    return values + (following - values) * (clamped - lower)
