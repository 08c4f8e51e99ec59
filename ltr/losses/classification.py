"""DiMP's target classification loss."""
import torch
from torch import Tensor


def gaussian_labels(boxes: Tensor, score_side: int, feature_stride: int, sigma: float) -> Tensor:
    """Target score maps (..., score_side, score_side) for boxes xywh (..., 4): Gaussians with value 1 at the centre.

    ``sigma`` is the standard deviation in cells, ``feature_stride`` the side of a cell in crop pixels.
    """
    centre = (boxes[..., :2] + boxes[..., 2:] / 2) / feature_stride  # (..., 2) x, y
    cells = torch.arange(score_side, dtype=boxes.dtype, device=boxes.device)
    along_x = torch.exp(-0.5 * ((cells - centre[..., 0:1]) / sigma) ** 2)  # (..., side)
    along_y = torch.exp(-0.5 * ((cells - centre[..., 1:2]) / sigma) ** 2)
    return along_y[..., :, None] * along_x[..., None, :]


def hinged_square_loss(scores: Tensor, labels: Tensor, threshold: float = 0.05) -> Tensor:
    """Squared error near the target; elsewhere (label below `threshold`) only positive scores are penalised.

    The hinge allows any negative score on the background, so the filter spends no capacity on exact zeros.
    """
    background = labels < threshold
    expected = torch.where(background, torch.zeros_like(labels), labels)
    hinged = torch.where(background, scores.clamp(min=0), scores)
    return (hinged - expected).square().mean()
