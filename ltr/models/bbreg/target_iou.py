"""IoU-Net folded for one target: the overlap of boxes and its gradient, without autograd and only where boxes are.

Refinement asks for ten boxes and their gradients five times a frame. Three things make that cheap and change no result:

* the target's channel factors and the batch norms are multiplied into weights once, on the first frame;
* the two 3x3 convolutions of each level run on the neighbourhood of the boxes alone, on just the cells their outputs
  need, so the values are those of the whole map; boxes that leave the neighbourhood make it grow;
* the gradient is written down: the pooled map is ``A F B^T``, with derivatives of A and B in closed form.
"""
from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

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

ConvWeights = tuple[Tensor, Tensor]


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
        rows = max(self.top - margin, 0), min(self.bottom + margin, size[0])
        return Window(*rows, max(self.left - margin, 0), min(self.right + margin, size[1]))


def _touched(corners: list[list[float]], scale: float, size: tuple[int, int]) -> Window:
    """Smallest window that holds every cell the boxes draw from; the whole map where a corner is not finite."""
    if not all(math.isfinite(value) for corner in corners for value in corner):
        return Window(0, size[0], 0, size[1])
    first_x, first_y = (math.floor(min(c[i] for c in corners) * scale) for i in (0, 1))
    last_x, last_y = (math.ceil(max(c[i] for c in corners) * scale) for i in (2, 3))
    top, left = min(max(first_y, 0), size[0] - 1), min(max(first_x, 0), size[1] - 1)
    return Window(top, min(max(last_y, top), size[0] - 1) + 1, left, min(max(last_x, left), size[1] - 1) + 1)


def _conv_relu(x: Tensor, conv: ConvWeights, out: Window, size: tuple[int, int]) -> Tensor:
    """3x3 convolution and ReLU on the cells of ``out``; ``x`` has one cell more on each side that is within the map."""
    padding = (out.left == 0, out.right == size[1], out.top == 0, out.bottom == size[0])
    if any(padding):
        x = functional.pad(x, [int(side) for side in padding])
    return functional.conv2d(x, *conv).relu_()


class _Level:
    """One feature level in one frame: its local map, and pooling forward and backward."""

    def __init__(
        self, features: Tensor, convs: tuple[ConvWeights, ConvWeights], scale: float, bins: int, margin: int
    ) -> None:
        self._features = features  # (1, C, H, W), backbone
        self._convs = convs
        self._scale = scale
        self._bins = bins
        self._margin = margin
        self._size = (features.shape[2], features.shape[3])
        self._window: Window | None = None

    def _look_at(self, corners: Tensor) -> None:
        if corners.device.type == "cpu":
            needed = _touched(corners.tolist(), self._scale, self._size)
        else:  # asking a GPU where the boxes are costs more than the whole map
            needed = Window(0, self._size[0], 0, self._size[1])
        if self._window is not None and self._window.contains(needed):
            return
        window = needed.grown(self._margin, self._size)
        between = window.grown(1, self._size)
        seen = between.grown(1, self._size)
        local = self._features[:, :, seen.top : seen.bottom, seen.left : seen.right]
        local = _conv_relu(local, self._convs[0], between, self._size)
        local = _conv_relu(local, self._convs[1], window, self._size)
        self._window = window
        self._map = local[0].permute(1, 2, 0).flatten(0, 1)  # (h * w, C)
        self._origin = corners.new_tensor([window.left, window.top])

    def pool(self, corners: Tensor) -> Tensor:
        """Pooled features (N, bins * bins * C), channels last.

        The neighbourhood is small, so both weights are multiplied out and one matrix product pools all boxes.
        """
        self._look_at(corners)
        rows, columns = self._window.bottom - self._window.top, self._window.right - self._window.left
        ends = corners.view(-1, 2, 2) * self._scale - self._origin  # (N, start and end, x and y)
        start, end = ends.permute(1, 2, 0)  # (x and y, N)
        end = torch.where((end > start).all(0), end, start)  # one empty side empties the box
        weights, self._slopes = integrated_hat_slopes(start, end, self._bins, max(rows, columns))
        self._horizontal, self._vertical = weights[0, ..., :columns], weights[1, ..., :rows]  # (N, bins, w or h)
        weights = self._vertical[:, :, None, :, None] * self._horizontal[:, None, :, None, :]  # (N, bins, bins, h, w)
        return (weights.view(-1, rows * columns) @ self._map).view(len(corners), -1)

    def corner_gradient(self, pooled_gradient: Tensor) -> Tensor:
        """Gradient in the corners (N, 4) from the gradient in :meth:`pool`'s last output."""
        (count, bins, columns), rows = self._horizontal.shape, self._vertical.shape[2]
        products = pooled_gradient.view(-1, self._map.shape[1]) @ self._map.T
        products = products.view(count, bins, bins, rows, columns)  # gradient in the multiplied weights
        weight_gradient = self._slopes.new_zeros(self._slopes.shape[1:])  # (x and y, N, bins, length)
        weight_gradient[0, ..., :columns] = (products * self._vertical[:, :, None, :, None]).sum((1, 3))
        weight_gradient[1, ..., :rows] = (products * self._horizontal[:, None, :, None, :]).sum((2, 4))
        gradient = (self._slopes * weight_gradient).sum((-1, -2))  # (start and end, x and y, N)
        return gradient.permute(2, 0, 1).reshape(count, 4) * self._scale


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
        self._convs = (
            (self._fold_conv(network.conv3_1t), self._fold_conv(network.conv3_2t)),
            (self._fold_conv(network.conv4_1t), self._fold_conv(network.conv4_2t)),
        )
        folded = [
            self._fold_linear(network.fc3_rt, modulation.fine, POOLED_FINE),
            self._fold_linear(network.fc4_rt, modulation.coarse, POOLED_COARSE),
        ]
        self.weights = [weight for weight, _ in folded]  # (inter, bins * bins * C) each
        self.biases = [bias for _, bias in folded]
        sizes = [len(bias) for bias in self.biases]
        self.last_weights = network.iou_predictor.weight.detach()[0].split(sizes)
        self.last_bias = network.iou_predictor.bias.detach()

    @staticmethod
    def _fold_conv(block: nn.Sequential) -> ConvWeights:
        weight, bias = fold_norm(block[0], block[1])
        return weight.contiguous(memory_format=torch.channels_last), bias

    @staticmethod
    def _fold_linear(block: LinearBlock, factors: Tensor, bins: int) -> tuple[Tensor, Tensor]:
        weight, bias = fold_norm(block.linear, block.bn)
        channels = factors.shape[1]
        weight = weight.view(len(weight), channels, bins * bins) * factors.view(1, channels, 1)
        return weight.transpose(1, 2).flatten(1).contiguous(), bias

    def at(self, features: dict[str, Tensor], margin: int = 1) -> LocalIoU:
        """The predictor in one frame.

        Args:
            features: backbone features of one image, "layer2" and "layer3".
            margin: cells by which boxes may move on either level before the neighbourhood is computed anew.
        """
        fine = _Level(features["layer2"], self._convs[0], FINE_SCALE, POOLED_FINE, margin)
        coarse = _Level(features["layer3"], self._convs[1], COARSE_SCALE, POOLED_COARSE, margin)
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
        target = self._target
        gradient = torch.zeros_like(boxes)
        for level, weight, last, active in zip(
            self._levels, target.weights, target.last_weights, hidden, strict=True
        ):
            gradient += level.corner_gradient(torch.where(active > 0, last, 0.0) @ weight)
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
