"""DiMP's target classification loss."""
from __future__ import annotations

import torch
from torch import Tensor


def gaussian_labels(boxes: Tensor, score_side: int, feature_stride: int, sigma: float) -> Tensor:
    """Score maps (..., score_side, score_side) as they should be for boxes xywh (..., 4): 1 at the target's centre.

    ``sigma`` is the Gaussian's deviation in cells, ``feature_stride`` a cell's side in crop pixels.
    """
    centre = (boxes[..., :2] + boxes[..., 2:] / 2) / feature_stride  # (..., 2) x, y
    cells = torch.arange(score_side, dtype=boxes.dtype, device=boxes.device)
    along_x = torch.exp(-0.5 * ((cells - centre[..., 0:1]) / sigma) ** 2)  # (..., side)
    along_y = torch.exp(-0.5 * ((cells - centre[..., 1:2]) / sigma) ** 2)
    return along_y[..., :, None] * along_x[..., None, :]


def hinged_square_loss(scores: Tensor, labels: Tensor, threshold: float = 0.05) -> Tensor:
    """Squared error near the target; elsewhere (label below `threshold`) only positive scores are wrong.

    The hinge lets the filter answer the background with any negative score, so its capacity is not spent on zeros.
    """
    background = labels < threshold
    wanted = torch.where(background, torch.zeros_like(labels), labels)
    answered = torch.where(background, scores.clamp(min=0), scores)
    return (answered - wanted).square().mean()
