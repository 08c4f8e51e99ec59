"""Proposals and targets of the IoU-Net."""
from __future__ import annotations

import torch
from torch import Tensor

from ltr.overlap import overlap

PERTURBATIONS = (0.01, 0.05, 0.1, 0.2, 0.3)  # deviations of a proposal, in units of the box's size


def _box_noise(shape: torch.Size, device: torch.device) -> Tensor:
    """Noise of centre and logarithmic size; for half of the boxes width and height err together, as a tracker's do."""
    noise = torch.randn(shape, device=device)
    together = torch.rand(shape[:-1], device=device) < 0.5
    noise[..., 3] = torch.where(together, noise[..., 2] + 0.3 * noise[..., 3], noise[..., 3])
    return noise


def sample_proposals(boxes: Tensor, count: int, min_overlap: float = 0.1, tries: int = 10) -> Tensor:
    """Random boxes around each box, at all distances from nearly right to hardly overlapping.

    Args:
        boxes: xywh (..., 4).
        count: proposals for each.
        min_overlap: a proposal that overlaps less is drawn again, and replaced by the box itself after `tries` draws.
        tries: number of draws.

    Returns:
        Proposals xywh (..., count, 4).
    """
    truth = boxes[..., None, :].expand(*boxes.shape[:-1], count, 4)
    result, missing = truth.clone(), torch.ones(truth.shape[:-1], dtype=torch.bool, device=boxes.device)
    deviations = torch.tensor(PERTURBATIONS, device=boxes.device)
    for _ in range(tries):
        spread = deviations[torch.randint(len(PERTURBATIONS), truth.shape[:-1], device=boxes.device)][..., None]
        noise = _box_noise(truth.shape, boxes.device) * spread
        side = truth[..., 2:].prod(-1, keepdim=True).sqrt()
        centre = truth[..., :2] + truth[..., 2:] / 2 + noise[..., :2] * side
        size = truth[..., 2:] * noise[..., 2:].exp()
        drawn = torch.cat([centre - size / 2, size], dim=-1)
        accepted = missing & (overlap(drawn, truth) > min_overlap)
        result = torch.where(accepted[..., None], drawn, result)
        missing = missing & ~accepted
    return result


def overlap_loss(predicted: Tensor, proposals: Tensor, boxes: Tensor) -> Tensor:
    """Squared error of overlaps (..., count), predicted as -1 … 1, of proposals (..., count, 4) with boxes (..., 4)."""
    truth = 2 * overlap(proposals, boxes[..., None, :]) - 1
    return (predicted - truth).square().mean()
