"""Training of the IoU-Net as the energy of a conditional density of boxes (Danelljan et al., 2020).

The network's output f(y) for a box y stands for the density exp(f(y)) / Z. Its divergence from a narrow Gaussian around
the true box is minimised, with Z and the mean over the Gaussian taken from the same random boxes. Boxes are measured
in units of the true one: centre by width and height, sizes by their logarithms.
"""
from __future__ import annotations

import math

import torch
from torch import Tensor

DEVIATIONS = (0.05, 0.12, 0.35)  # of the mixture that boxes are drawn from, equal shares
LABEL_DEVIATION = 0.05  # of the Gaussian around the true box


def draw_boxes(truth: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """``count`` random boxes around each true one, xywh (..., 4).

    Returns:
        Boxes xywh (..., count, 4) and their distance from the truth in its units (..., count, 4).
    """
    shape = (*truth.shape[:-1], count)
    deviations = torch.tensor(DEVIATIONS, device=truth.device)
    chosen = deviations[torch.randint(len(DEVIATIONS), shape, device=truth.device)]
    distance = torch.randn((*shape, 4), device=truth.device) * chosen[..., None]
    centre = truth[..., None, :2] + truth[..., None, 2:] * (0.5 + distance[..., :2])
    size = truth[..., None, 2:] * distance[..., 2:].exp()
    return torch.cat([centre - size / 2, size], dim=-1), distance


def log_gaussian(distance: Tensor, deviation: float) -> Tensor:
    """Logarithm of the Gaussian density (...) at (..., d)."""
    normaliser = distance.shape[-1] * math.log(deviation * math.sqrt(2 * math.pi))
    return -0.5 * (distance / deviation).square().sum(-1) - normaliser


def density_loss(energy: Tensor, distance: Tensor) -> Tensor:
    """Divergence of the predicted density from the label's, up to a constant; mean over the images.

    ``energy`` is the network's output (..., count), ``distance`` that of the boxes which :func:`draw_boxes` drew.
    """
    drawn = torch.logsumexp(torch.stack([log_gaussian(distance, d) for d in DEVIATIONS]), 0) - math.log(len(DEVIATIONS))
    log_normaliser = torch.logsumexp(energy - drawn, -1) - math.log(energy.shape[-1])
    label_weight = torch.softmax(log_gaussian(distance, LABEL_DEVIATION) - drawn, -1)  # sums to 1: less noise
    return (log_normaliser - (label_weight * energy).sum(-1)).mean()
