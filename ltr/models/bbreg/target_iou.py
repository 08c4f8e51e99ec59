"""IoU-Net folded for one target: the overlap of boxes and its gradient, without autograd and only where boxes are.

Refinement asks for ten boxes and their gradients five times a frame. Three things make that cheap and change no result:

* the target's channel factors and the batch norms are multiplied into the two linear layers once, on the first frame;
* the two 3x3 convolutions of each level run on the neighbourhood of the boxes alone (a margin of two cells carries the
  receptive field, so the values are those of the whole map); boxes that leave it make it grow;
* the gradient is written down: the pooled map is ``A F B^T``, with derivatives of A and B in closed form.
"""
from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn

from ltr.models.bbreg.iou_net import (
    COARSE_SCALE,
    FINE_SCALE,
    POOLED_COARSE,
    POOLED_FINE,
    IoUNet,
    LinearBlock,
    Modulation,
    corners_from_xywh,
)
from ltr.models.inference import fold_norm
from ltr.ops import integrated_hat_slopes

RECEPTIVE_MARGIN = 2  # cells by which two 3x3 convolutions look beyond their output


class Window(NamedTuple):
    """Rows ``top:bottom`` and columns ``left:right`` of a feature map."""

    top: int
    bottom: int
    left: int
    right: int

    def contains(self, other: Window) -> bool:
        """Whether ``other`` lies inside."""
        rows = self.top <= other.top and self.bottom >= other.bottom
        return rows and self.left <= other.left and self.right >= other.right

    def grown(self, margin: int, size: tuple[int, int]) -> Window:
        """Larger by ``margin`` cells on each side, but not beyond the map."""
        return Window(
            max(self.top - margin, 0),
            min(self.bottom + margin, size[0]),
            max(self.left - margin, 0),
            min(self.right + margin, size[1]),
        )


def _touched(corners: list[list[float]], scale: float, size: tuple[int, int]) -> Window:
    """Smallest window that holds every cell the boxes draw from; the whole map where a corner is not finite."""
    if not all(math.isfinite(value) for corner in corners for value in corner):
        return Window(0, size[0], 0, size[1])
    first_x, first_y = (math.floor(min(c[i] for c in corners) * scale) for i in (0, 1))
    last_x, last_y = (math.ceil(max(c[i] for c in corners) * scale) for i in (2, 3))
    top, left = min(max(first_y, 0), size[0] - 1), min(max(first_x, 0), size[1] - 1)
    return Window(top, min(max(last_y, top), size[0] - 1) + 1, left, min(max(last_x, left), size[1] - 1) + 1)


class _Level:
    """One feature level in one frame: its local map, and pooling forward and backward."""

    def __init__(self, features: Tensor, branch: nn.Sequential, scale: float, bins: int, margin: int) -> None:
        self._features = features  # (1, C, H, W), backbone
        self._branch = branch
        self._scale = scale
        self._bins = bins
        self._margin = margin
        self._size = (features.shape[2], features.shape[3])
        self._window: Window | None = None
        self._map = features.new_zeros(0)  # (h, w * C) of the window

    def _look_at(self, corners: Tensor) -> None:
        if corners.device.type == "cpu":
            needed = _touched(corners.tolist(), self._scale, self._size)
        else:  # asking a GPU where the boxes are costs more than the whole map
            needed = Window(0, self._size[0], 0, self._size[1])
        if self._window is not None and self._window.contains(needed):
            return
        window = needed.grown(self._margin, self._size)
        seen = window.grown(RECEPTIVE_MARGIN, self._size)
        local = self._branch(self._features[:, :, seen.top : seen.bottom, seen.left : seen.right])
        rows = slice(window.top - seen.top, window.bottom - seen.top)
        columns = slice(window.left - seen.left, window.right - seen.left)
        self._window = window
        self._map = local[0, :, rows, columns].permute(1, 2, 0).flatten(1)

    def pool(self, corners: Tensor) -> Tensor:
        """Pooled features (N, bins * bins * C), kept in channels-last order."""
        self._look_at(corners)
        window, count, bins = self._window, len(corners), self._bins
        x1, y1, x2, y2 = (corners * self._scale).unbind(1)
        empty = ((x2 <= x1) | (y2 <= y1))[:, None, None]
        rows, columns = window.bottom - window.top, window.right - window.left
        vertical = integrated_hat_slopes(y1, y2, bins, window.top, rows)
        self._vertical = [weights.masked_fill(empty, 0) for weights in vertical]  # (N, bins, h) each
        horizontal = integrated_hat_slopes(x1, x2, bins, window.left, columns)
        self._horizontal = [weights.masked_fill(empty, 0) for weights in horizontal]  # (N, bins, w) each
        strips = self._vertical[0].reshape(count * bins, rows) @ self._map
        self._strips = strips.view(count, bins, columns, -1)  # (N, bins, w, C)
        return (self._horizontal[0][:, None] @ self._strips).flatten(1)

    def corner_gradient(self, pooled_gradient: Tensor) -> Tensor:
        """Gradient in the corners (N, 4) from the gradient in :meth:`pool`'s last output."""
        count, bins, columns, channels = self._strips.shape
        pooled_gradient = pooled_gradient.view(count, bins, bins, channels)
        strip_gradient = self._horizontal[0].transpose(1, 2)[:, None] @ pooled_gradient  # (N, bins, w, C)
        vertical = (strip_gradient.reshape(count * bins, -1) @ self._map.T).view(count, bins, -1)  # (N, bins, h)
        horizontal = (pooled_gradient @ self._strips.transpose(2, 3)).sum(1)  # (N, bins, w)
        parts = [
            (horizontal * self._horizontal[1]).sum((1, 2)),
            (vertical * self._vertical[1]).sum((1, 2)),
            (horizontal * self._horizontal[2]).sum((1, 2)),
            (vertical * self._vertical[2]).sum((1, 2)),
        ]
        return torch.stack(parts, 1) * self._scale


class TargetIoU:
    """IoU-Net of one target, ready for every frame.

    Args:
        network: in eval mode; read once, later changes to it are not seen.
        modulation: of the target, batch of one.
    """

    @torch.no_grad()
    def __init__(self, network: IoUNet, modulation: Modulation) -> None:
        if network.training:
            raise ValueError("TargetIoU folds batch norms, so the IoU-Net must be in eval mode: call network.eval()")
        self._branches = (
            nn.Sequential(network.conv3_1t, network.conv3_2t),
            nn.Sequential(network.conv4_1t, network.conv4_2t),
        )
        folded = [
            self._fold(network.fc3_rt, modulation.fine, POOLED_FINE),
            self._fold(network.fc4_rt, modulation.coarse, POOLED_COARSE),
        ]
        self.weights = [weight for weight, _ in folded]  # (inter, bins * bins * C) each
        self.biases = [bias for _, bias in folded]
        sizes = [len(bias) for bias in self.biases]
        self.last_weights = network.iou_predictor.weight.detach()[0].split(sizes)
        self.last_bias = network.iou_predictor.bias.detach()

    @staticmethod
    def _fold(block: LinearBlock, factors: Tensor, bins: int) -> tuple[Tensor, Tensor]:
        weight, bias = fold_norm(block.linear, block.bn)
        channels = factors.shape[1]
        weight = weight.view(len(weight), channels, bins * bins) * factors.view(1, channels, 1)
        return weight.transpose(1, 2).flatten(1).contiguous(), bias

    def at(self, features: dict[str, Tensor], margin: int = 1) -> LocalIoU:
        """The predictor in one frame.

        Args:
            features: backbone features of one image, "layer2" and "layer3".
            margin: cells of stride 16 by which boxes may move before the neighbourhood is computed anew.
        """
        fine = _Level(features["layer2"], self._branches[0], FINE_SCALE, POOLED_FINE, 2 * margin)
        coarse = _Level(features["layer3"], self._branches[1], COARSE_SCALE, POOLED_COARSE, margin)
        return LocalIoU(self, (fine, coarse))


class LocalIoU:
    """Overlap of boxes with the target in one frame; made by :meth:`TargetIoU.at`."""

    def __init__(self, target: TargetIoU, levels: tuple[_Level, _Level]) -> None:
        self._target = target
        self._levels = levels

    @torch.no_grad()
    def iou(self, boxes: Tensor) -> Tensor:
        """Predicted overlaps (N,) of boxes xywh in pixels (N, 4)."""
        return self._forward(corners_from_xywh(boxes))[0]

    @torch.no_grad()
    def iou_and_gradient(self, boxes: Tensor) -> tuple[Tensor, Tensor]:
        """Predicted overlaps (N,) and the gradient of each in its own box, x, y, w, h (N, 4)."""
        overlap, hidden = self._forward(corners_from_xywh(boxes))
        gradient = torch.zeros_like(boxes)
        for level, weight, last, active in zip(
            self._levels, self._target.weights, self._target.last_weights, hidden, strict=True
        ):
            gradient = gradient + level.corner_gradient((active > 0).to(last.dtype).mul_(last) @ weight)
        return overlap, torch.cat([gradient[:, :2] + gradient[:, 2:], gradient[:, 2:]], 1)

    def _forward(self, corners: Tensor) -> tuple[Tensor, list[Tensor]]:
        target = self._target
        hidden = []
        overlap = target.last_bias
        for level, weight, bias, last in zip(
            self._levels, target.weights, target.biases, target.last_weights, strict=True
        ):
            hidden.append(torch.addmm(bias, level.pool(corners), weight.T).relu_())
            overlap = overlap + hidden[-1] @ last
        return overlap, hidden
