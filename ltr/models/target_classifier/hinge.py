"""SuperDiMP-simple's classifier: DiMP's loss with a Gaussian label and a fixed mask instead of learned maps."""
import math

import torch
from torch import Tensor, nn

from ltr.models.target_classifier.filter_optimizer import FilterOptimizer
from ltr.models.target_classifier.objective import ObjectiveMaps, TargetObjective, centre_distance, gaussian


class HingeResidual(nn.Module):
    """Holds the only learned number, the square root of the regularisation, under its published name."""

    def __init__(self, init_filter_reg: float) -> None:
        super().__init__()
        self.filter_reg = nn.Parameter(torch.full((1,), init_filter_reg))


class HingeOptimizer(FilterOptimizer):
    """Steepest descent with Gauss-Newton steps; negative scores have little weight where the label is small.

    Args:
        num_iter: default number of steps.
        feature_stride: image pixels per feature cell.
        init_filter_reg: square root of the regularisation.
        hinge_threshold: where the label is above this, scores are compared as they are.
        activation_leak: factor on negative scores, and on the label, elsewhere.
        gauss_sigma: width of the label in cells; by default a quarter of the target's side in patches of 352 pixels
            with a search area of 6.
        detach_length: see :class:`FilterOptimizer`.
    """

    def __init__(
        self,
        num_iter: int = 5,
        feature_stride: int = 16,
        init_filter_reg: float = 0.1,
        hinge_threshold: float = 0.05,
        activation_leak: float = 0.1,
        gauss_sigma: float = 352 / 6 / 16 / 4,
        detach_length: float = math.inf,
    ) -> None:
        super().__init__(num_iter, feature_stride, detach_length=detach_length)
        self.residual_module = HingeResidual(init_filter_reg)
        self.hinge_threshold = hinge_threshold
        self.activation_leak = activation_leak
        self.gauss_sigma = gauss_sigma

    def maps(self, label: Tensor) -> ObjectiveMaps:
        """Label, mask and spatial weight (S, N, H', W') of a Gaussian label."""
        mask = ((label > self.hinge_threshold).to(label) + self.activation_leak).clamp(max=1)
        return ObjectiveMaps(mask * label, mask, torch.ones_like(label))

    def step_factor(self) -> float:
        return 1.0

    def make_objective(
        self, features: Tensor, boxes: Tensor, score_size: tuple[int, int], filter_size: int, weight: Tensor
    ) -> TargetObjective:
        distance = centre_distance(boxes, score_size, filter_size, self.feature_stride)
        maps = self.maps(gaussian(distance, self.gauss_sigma))
        return TargetObjective(features, maps, weight.sqrt().to(features), self.residual_module.filter_reg.square())
