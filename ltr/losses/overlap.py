"""Random proposals and the overlap loss for training the IoU-Net."""
import torch
from torch import Tensor

from ltr.overlap import overlap

PERTURBATIONS = (0.01, 0.05, 0.1, 0.2, 0.3)  # standard deviations of proposals, in units of the box's size
LEAST_OVERLAP = 0.1  # proposals that overlap less are drawn again
TRIES = 10  # after which the box itself becomes the proposal


def _box_noise(shape: torch.Size, device: torch.device) -> Tensor:
    """Noise of centre and logarithmic size; in half of the boxes, width and height vary together, as in a tracker."""
    noise = torch.randn(shape, device=device)
    together = torch.rand(shape[:-1], device=device) < 0.5
    noise[..., 3] = torch.where(together, noise[..., 2] + 0.3 * noise[..., 3], noise[..., 3])
    return noise


def sample_proposals(boxes: Tensor, count: int) -> Tensor:
    """Draws boxes (..., count, 4) around each box xywh (..., 4), from almost exact to hardly overlapping."""
    truth = boxes[..., None, :].expand(*boxes.shape[:-1], count, 4)
    result, missing = truth.clone(), torch.ones(truth.shape[:-1], dtype=torch.bool, device=boxes.device)
    deviations = torch.tensor(PERTURBATIONS, device=boxes.device)
    for _ in range(TRIES):
        spread = deviations[torch.randint(len(PERTURBATIONS), truth.shape[:-1], device=boxes.device)][..., None]
        noise = _box_noise(truth.shape, boxes.device) * spread
        side = truth[..., 2:].prod(-1, keepdim=True).sqrt()
        centre = truth[..., :2] + truth[..., 2:] / 2 + noise[..., :2] * side
        size = truth[..., 2:] * noise[..., 2:].exp()
        drawn = torch.cat([centre - size / 2, size], dim=-1)
        accepted = missing & (overlap(drawn, truth) > LEAST_OVERLAP)
        result = torch.where(accepted[..., None], drawn, result)
        missing = missing & ~accepted
    return result


def overlap_loss(predicted: Tensor, proposals: Tensor, boxes: Tensor) -> Tensor:
    """Squared error of overlaps (..., count), predicted as -1 … 1, of proposals (..., count, 4) and boxes (..., 4)."""
    truth = 2 * overlap(proposals, boxes[..., None, :]) - 1
    return (predicted - truth).square().mean()
