"""Trains the IoU-Net as the energy of a conditional density over boxes (Danelljan et al., 2020).

The network's output f(y) for a box y defines the density exp(f(y)) / Z. Its divergence from a narrow Gaussian around
the true box is minimised; Z and the mean over the Gaussian are estimated from the same random boxes. Distances are
relative to the true box: centres in units of its width and height, sizes as logarithms of the ratio.
"""
import math

import torch
from torch import Tensor

DEVIATIONS = (0.05, 0.12, 0.35)  # standard deviations of the equally weighted mixture from which boxes are drawn
LABEL_DEVIATION = 0.05  # standard deviation of the Gaussian around the true box


def draw_boxes(truth: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Draws ``count`` random boxes around each true box xywh (..., 4).

    Returns:
        Boxes xywh (..., count, 4) and their distances from the true box in its units (..., count, 4).
    """
    shape = (*truth.shape[:-1], count)
    deviations = torch.tensor(DEVIATIONS, device=truth.device)
    chosen = deviations[torch.randint(len(DEVIATIONS), shape, device=truth.device)]
    distance = torch.randn((*shape, 4), device=truth.device) * chosen[..., None]
    centre = truth[..., None, :2] + truth[..., None, 2:] * (0.5 + distance[..., :2])
    size = truth[..., None, 2:] * distance[..., 2:].exp()
    return torch.cat([centre - size / 2, size], dim=-1), distance


def log_gaussian(distance: Tensor, deviation: float) -> Tensor:
    """Logarithm (...) of an isotropic Gaussian density at ``distance`` (..., d) from its centre."""
    normaliser = distance.shape[-1] * math.log(deviation * math.sqrt(2 * math.pi))
    return -0.5 * (distance / deviation).square().sum(-1) - normaliser


def density_loss(energy: Tensor, distance: Tensor) -> Tensor:
    """Divergence of the predicted density from the label density up to a constant, averaged over the images.

    ``energy`` is the network's output (..., count) for boxes of :func:`draw_boxes`, ``distance`` their distances.
    """
    log_mixture = torch.stack([log_gaussian(distance, deviation) for deviation in DEVIATIONS]).logsumexp(0)
    log_mixture = log_mixture - math.log(len(DEVIATIONS))  # density from which the boxes were drawn
    log_normaliser = torch.logsumexp(energy - log_mixture, -1) - math.log(energy.shape[-1])
    label_weight = torch.softmax(log_gaussian(distance, LABEL_DEVIATION) - log_mixture, -1)  # sums to 1: less noise
    return (log_normaliser - (label_weight * energy).sum(-1)).mean()
