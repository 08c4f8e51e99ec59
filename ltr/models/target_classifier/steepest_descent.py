"""DiMP's filter optimiser: steepest descent with Gauss-Newton step lengths on a learned objective."""
import math

import torch
from torch import Tensor, nn

from ltr.models.target_classifier.filter_optimizer import FilterOptimizer
from ltr.models.target_classifier.objective import ObjectiveMaps, TargetObjective, centre_distance, interpolate_bins


class SteepestDescentOptimizer(FilterOptimizer):
    """Steepest descent with learned maps (label, mask, spatial weight), regularisation and step length.

    :meth:`objective` defines the problem for any learner; :meth:`forward` is DiMP's own learner.

    Args:
        init_step_length: factor on the Gauss-Newton step.
        init_filter_reg: square root of the regularisation.
        init_gauss_sigma: width of the initial label in cells; 0 for a single cell.
        num_dist_bins: number of knots of the three learned functions of distance.
        bin_displacement: distance between knots in cells.
        mask_init_factor: initial height of the mask before the sigmoid.
        score_act: must be "relu", the only activation that published DiMP networks use.
        mask_act: "sigmoid" or "linear".
        min_filter_reg: lower bound on the square root of the regularisation.
    """

    def __init__(
        self,
        num_iter: int = 5,
        feature_stride: int = 16,
        init_step_length: float = 1.0,
        init_filter_reg: float = 1e-2,
        init_gauss_sigma: float = 1.0,
        num_dist_bins: int = 5,
        bin_displacement: float = 1.0,
        mask_init_factor: float = 4.0,
        score_act: str = "relu",
        mask_act: str = "sigmoid",
        min_filter_reg: float = 1e-3,
        detach_length: float = math.inf,
    ) -> None:
        super().__init__(num_iter, feature_stride, detach_length=detach_length)
        if score_act != "relu":
            raise ValueError(f"score_act={score_act!r} is not supported; use 'relu' as the published DiMP networks do")
        if mask_act not in ("sigmoid", "linear"):
            raise ValueError(f"target_mask_act={mask_act!r} is not known; use 'sigmoid' or 'linear'")
        if num_dist_bins < 2:
            raise ValueError(f"num_dist_bins={num_dist_bins}: a function of distance needs at least 2 knots")
        self.bin_displacement = bin_displacement
        self.min_filter_reg = min_filter_reg
        self.log_step_length = nn.Parameter(torch.full((1,), math.log(init_step_length)))
        self.filter_reg = nn.Parameter(torch.full((1,), init_filter_reg))
        self.label_map_predictor = nn.Conv2d(num_dist_bins, 1, 1, bias=False)
        mask = [nn.Conv2d(num_dist_bins, 1, 1, bias=False)]
        self.target_mask_predictor = nn.Sequential(*mask, *([nn.Sigmoid()] if mask_act == "sigmoid" else []))
        self.spatial_weight_predictor = nn.Conv2d(num_dist_bins, 1, 1, bias=False)
        self._init_maps(init_gauss_sigma, mask_init_factor, mask_act)

    @torch.no_grad()
    def _init_maps(self, sigma: float, mask_factor: float, mask_act: str) -> None:
        weight = self.label_map_predictor.weight
        distance = torch.arange(weight.shape[1], dtype=weight.dtype, device=weight.device).view(1, -1, 1, 1)
        distance = distance * self.bin_displacement
        bump = (distance == 0).to(weight.dtype) if sigma == 0 else torch.exp(-0.5 * (distance / sigma) ** 2)
        weight.copy_(bump - bump.min())
        fall = torch.tanh(2 - distance)
        self.target_mask_predictor[0].weight.copy_(mask_factor * fall if mask_act == "sigmoid" else 0.5 * (fall + 1))
        self.spatial_weight_predictor.weight.fill_(1)

    def maps(self, boxes: Tensor, score_size: tuple[int, int], filter_size: int) -> ObjectiveMaps:
        """Label, mask and spatial weight of targets at ``boxes`` (S, N, 4), xywh in image pixels."""
        tables = torch.stack(
            [
                self.label_map_predictor.weight.flatten(),
                self.target_mask_predictor[0].weight.flatten(),
                self.spatial_weight_predictor.weight.flatten(),
            ]
        )
        distance = centre_distance(boxes, score_size, filter_size, self.feature_stride)
        label, mask, spatial = interpolate_bins(tables, distance / self.bin_displacement)
        for layer in self.target_mask_predictor[1:]:
            mask = layer(mask)
        return ObjectiveMaps(label, mask, spatial)

    def regularisation(self) -> Tensor:
        """reg (1,), bounded below to keep the problem strictly convex."""
        return self.filter_reg.square().clamp(min=self.min_filter_reg**2)

    def step_factor(self) -> Tensor:
        return self.log_step_length.exp()

    def make_objective(
        self, features: Tensor, boxes: Tensor, score_size: tuple[int, int], filter_size: int, weight: Tensor
    ) -> TargetObjective:
        return TargetObjective(
            features, self.maps(boxes, score_size, filter_size), weight.sqrt().to(features), self.regularisation()
        )
