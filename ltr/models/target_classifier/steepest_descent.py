"""DiMP's filter optimiser: a learned objective, minimised by steepest descent with Gauss-Newton step lengths."""
from __future__ import annotations

import math
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from ltr.models.target_classifier.filtering import score_length
from ltr.models.target_classifier.objective import ObjectiveMaps, TargetObjective, centre_distance, interpolate_bins


@dataclass(slots=True)
class OptimizerTrace:
    """What happened: filters before the first and after every step, and their losses (S,), where asked for."""

    filters: list[Tensor] = field(default_factory=list)
    losses: list[Tensor] = field(default_factory=list)


class SteepestDescentOptimizer(nn.Module):
    """Learned label, mask and spatial weight maps, regularisation and step length; and the steps themselves.

    :meth:`objective` states the problem for any learner; :meth:`forward` is DiMP's own learner.

    Args:
        num_iter: steps by default.
        feature_stride: image pixels for each feature cell.
        init_step_length: factor on the Gauss-Newton step.
        init_filter_reg: square root of the regularisation.
        init_gauss_sigma: width of the initial label in cells; 0 for a single cell.
        num_dist_bins: knots of the three learned functions of distance.
        bin_displacement: distance of knots in cells.
        mask_init_factor: initial height of the mask before the sigmoid.
        score_act: "relu", the only activation published DiMP networks use.
        mask_act: "sigmoid" or "linear".
        min_filter_reg: lower bound on the square root of the regularisation.
        detach_length: cut the graph of the iterates every so many steps; infinite by default.
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
        super().__init__()
        if score_act != "relu":
            raise ValueError(f"score_act={score_act!r} is not available; use 'relu' as the published DiMP networks do")
        if mask_act not in ("sigmoid", "linear"):
            raise ValueError(f"target_mask_act={mask_act!r} is not known; use 'sigmoid' or 'linear'")
        if num_dist_bins < 2:
            raise ValueError(f"num_dist_bins={num_dist_bins}, but a function of distance needs at least 2 knots")
        self.num_iter = num_iter
        self.feature_stride = feature_stride
        self.bin_displacement = bin_displacement
        self.min_filter_reg = min_filter_reg
        self.detach_length = detach_length
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
        """reg (1,), bounded below so that the problem stays strictly convex along every direction."""
        return self.filter_reg.square().clamp(min=self.min_filter_reg**2)

    def objective(
        self, features: Tensor, boxes: Tensor, filter_size: int, sample_weight: Tensor | None = None
    ) -> TargetObjective:
        """The learning problem of one or more sequences.

        Args:
            features: (S, N, C, H, W), or (N, C, H, W) for one sequence.
            boxes: xywh in image pixels (S, N, 4) or (N, 4).
            filter_size: side k of the filter.
            sample_weight: (S, N) or (N,); 1/N each where it is None.
        """
        if features.dim() == 4:
            features, boxes = features[None], boxes[None]
        if boxes.shape[:2] != features.shape[:2] or boxes.shape[-1] != 4:
            raise ValueError(f"boxes {tuple(boxes.shape)} do not fit features {tuple(features.shape)}: one xywh each")
        count = features.shape[1]
        if sample_weight is None:
            root_weight = features.new_full((1, 1, 1, 1), math.sqrt(1 / count))
        else:
            root_weight = sample_weight.reshape(-1, count, 1, 1).sqrt()
        height, width = features.shape[-2:]
        score_size = (score_length(height, filter_size), score_length(width, filter_size))
        maps = self.maps(boxes.to(features.dtype), score_size, filter_size)
        return TargetObjective(features, maps, root_weight, self.regularisation())

    def forward(
        self,
        filters: Tensor,
        features: Tensor,
        boxes: Tensor,
        sample_weight: Tensor | None = None,
        num_iter: int | None = None,
        trace: OptimizerTrace | None = None,
    ) -> Tensor:
        """Steepest descent from ``filters`` (S, C, k, k).

        Args:
            filters: where to start.
            features: as in :meth:`objective`.
            boxes: as in :meth:`objective`.
            sample_weight: as in :meth:`objective`.
            num_iter: steps; the constructor's number where it is None.
            trace: filled with every iterate and its loss (differentiable in training).

        Returns:
            The filters after the last step.
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

    def step(self, problem: TargetObjective, filters: Tensor, scores: Tensor) -> tuple[Tensor, Tensor]:
        """One step of steepest descent from ``filters`` with their ``scores``; the same of the new filters."""
        gradient = problem.gradient(filters, scores)
        gradient_scores = problem.scores(gradient)
        squared_norm = gradient.square().sum((1, 2, 3))
        curvature = problem.curvature(gradient, scores, gradient_scores).clamp(min=1e-8)
        length = (self.log_step_length.exp() * squared_norm / curvature).view(-1, 1, 1, 1)
        # Scores are linear in the filter: those of the new filter cost no further pass over the features.
        return filters - length * gradient, scores - length * gradient_scores

    @staticmethod
    def _record(trace: OptimizerTrace | None, problem: TargetObjective, filters: Tensor, scores: Tensor) -> None:
        if trace is not None:
            trace.filters.append(filters)
            trace.losses.append(problem.loss(filters, scores))
