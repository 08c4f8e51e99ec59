"""IoU-Net folded for one target: the overlap of boxes and its gradient, without autograd and only where boxes are.

Refinement asks for ten boxes and their gradients five times a frame. Three things make that cheap and change no result:

* the target's channel factors and the batch norms are multiplied into weights once, on the first frame;
* the two 3x3 convolutions of each level run on the neighbourhood of the boxes alone, on just the cells their outputs
  need, so the values are those of the whole map; boxes that leave the neighbourhood make it grow;
* the gradient is written down: the pooled map is ``V F H^T``, with derivatives of V and H in closed form.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from ltr.models.bbreg.bin_weights import LEVELS, BinWeights, Window
from ltr.models.bbreg.iou_net import POOLED_COARSE, POOLED_FINE, IoUNet, LinearBlock, Modulation, corners_from_xywh
from ltr.models.inference import fold_norm

ConvWeights = tuple[Tensor, Tensor]
MapFunction = Callable[[Sequence["LocalCrop"]], list[Tensor]]


def _corners(boxes: Tensor) -> np.ndarray:
    return corners_from_xywh(boxes).cpu().numpy()


def _touched(extremes: tuple[float, float, float, float], scale: float, size: tuple[int, int]) -> Window:
    """Smallest window with every cell that boxes within ``extremes`` draw from; the whole map if these are infinite."""
    if not all(math.isfinite(value) for value in extremes):
        return Window(0, size[0], 0, size[1])
    x1, y1, x2, y2 = (value * scale for value in extremes)
    top, left = min(max(math.floor(y1), 0), size[0] - 1), min(max(math.floor(x1), 0), size[1] - 1)
    bottom, right = min(max(math.ceil(y2), top), size[0] - 1), min(max(math.ceil(x2), left), size[1] - 1)
    return Window(top, bottom + 1, left, right + 1)


class LocalCrop(NamedTuple):
    """What the test branch of one level needs for a window of its output.

    Attributes:
        features: the part of the backbone's map (1, C, rows, columns).
        first_margins: zeros around it, ``left, right, top, bottom``, 1 where the window ends with the map, else 0.
        second_margins: the same around what the first convolution gives.
    """

    features: Tensor
    first_margins: list[int]
    second_margins: list[int]


def _crop(features: Tensor, window: Window) -> LocalCrop:
    """No more of the features than the window needs: each convolution sees one cell further on every side."""
    size = (features.shape[2], features.shape[3])
    between = window.grown(1, size)
    seen = between.grown(1, size)
    part = features[:, :, seen.top : seen.bottom, seen.left : seen.right]
    return LocalCrop(part, _margins(between, size), _margins(window, size))


def _margins(out: Window, size: tuple[int, int]) -> list[int]:
    return [int(end) for end in (out.left == 0, out.right == size[1], out.top == 0, out.bottom == size[0])]


def _conv_relu(x: Tensor, conv: ConvWeights, margins: list[int]) -> Tensor:
    """3x3 convolution and ReLU."""
    return functional.conv2d(functional.pad(x, margins) if any(margins) else x, *conv).relu_()


class TargetIoU:
    """IoU-Net of one target, ready for every frame.

    Args:
        network: in eval mode; read once, later changes to it are not seen.
        modulation: of the target, batch of one.
        compute_maps: another engine's :meth:`local_maps`; None computes them here.
    """

    @torch.no_grad()
    def __init__(self, network: IoUNet, modulation: Modulation, compute_maps: MapFunction | None = None) -> None:
        if network.training:
            raise ValueError("TargetIoU folds batch norms, so the IoU-Net must be in eval mode: call network.eval()")
        self.local_maps = compute_maps or self._local_maps
        self.convs = (
            (self._fold_conv(network.conv3_1t), self._fold_conv(network.conv3_2t)),
            (self._fold_conv(network.conv4_1t), self._fold_conv(network.conv4_2t)),
        )
        folded = [
            self._fold_linear(network.fc3_rt, modulation.fine, POOLED_FINE),
            self._fold_linear(network.fc4_rt, modulation.coarse, POOLED_COARSE),
        ]
        self.weights = [weight for weight, _ in folded]  # (inter, columns * rows of bins * C) each
        self.biases = [bias for _, bias in folded]
        sizes = [len(bias) for bias in self.biases]
        self.last_weights = network.iou_predictor.weight.detach()[0].split(sizes)
        self.last_bias = network.iou_predictor.bias.detach()

    def _local_maps(self, crops: Sequence[LocalCrop]) -> list[Tensor]:
        """The test branch's output (1, columns, rows, C) of each level."""
        maps = []
        for (first, second), crop in zip(self.convs, crops, strict=True):
            local = _conv_relu(crop.features, first, crop.first_margins)
            maps.append(_conv_relu(local, second, crop.second_margins).transpose(1, 3))
        return maps

    @staticmethod
    def _fold_conv(block: nn.Sequential) -> ConvWeights:
        weight, bias = fold_norm(block[0], block[1])
        return weight.contiguous(memory_format=torch.channels_last), bias

    @staticmethod
    def _fold_linear(block: LinearBlock, factors: Tensor, bins: int) -> tuple[Tensor, Tensor]:
        weight, bias = fold_norm(block.linear, block.bn)
        channels = factors.shape[1]
        weight = weight.view(len(weight), channels, bins, bins) * factors.view(1, channels, 1, 1)
        return weight.permute(0, 3, 2, 1).flatten(1).contiguous(), bias

    def at(self, features: dict[str, Tensor], margin: int = 1) -> LocalIoU:
        """The predictor in one frame.

        Args:
            features: backbone features of one image, "layer2" and "layer3".
            margin: cells by which boxes may move on either level before the neighbourhood is computed again.
        """
        return LocalIoU(self, (features["layer2"], features["layer3"]), margin)


class LocalIoU:
    """Overlap of boxes with the target in one frame; made by :meth:`TargetIoU.at`.

    A box's bins are ``V F H^T`` in every channel of the map F. What both the bins and the gradient need, ``F H^T``, is
    one product for all boxes, and everything after it works on a box's own few rows.
    """

    def __init__(self, target: TargetIoU, features: tuple[Tensor, Tensor], margin: int) -> None:
        self._target = target
        self._features = features
        self._margin = margin
        self._weights: BinWeights | None = None
        self._maps: list[Tensor] = []  # (columns, rows * C) of each level's window

    @property
    def dtype(self) -> torch.dtype:
        """That boxes must have."""
        return self._features[0].dtype

    @torch.no_grad()
    def iou(self, boxes: Tensor) -> Tensor:
        """Predicted overlaps (N,) of boxes xywh in pixels (N, 4)."""
        return self._forward(_corners(boxes))[0]

    @torch.no_grad()
    def iou_and_gradient(self, boxes: Tensor) -> tuple[Tensor, Tensor]:
        """Predicted overlaps (N,) and the gradient of each in its own box, x, y, w, h (N, 4)."""
        overlap, levels = self._forward(_corners(boxes))
        gradients = []
        for level, (hidden, vertical, partial) in enumerate(levels):
            last = torch.where(hidden > 0, self._target.last_weights[level], 0.0)
            pooled = (last @ self._target.weights[level]).view(*partial.shape[:2], vertical.shape[1], -1)
            in_vertical = (pooled @ partial.transpose(2, 3)).sum(1)  # (N, bins, rows)
            spread = vertical.transpose(1, 2)[:, None] @ pooled  # (N, bins, rows, C)
            in_horizontal = spread.flatten(2).flatten(0, 1) @ self._maps[level].T  # (N * bins, columns)
            gradients.append((in_vertical.cpu().numpy(), in_horizontal.view(*partial.shape[:2], -1).cpu().numpy()))
        gradient = self._weights.corner_gradient(gradients)
        gradient[:, :2] += gradient[:, 2:]  # x and y move both corners
        return overlap, torch.from_numpy(gradient).to(overlap)

    def _forward(self, corners: np.ndarray) -> tuple[Tensor, list[tuple[Tensor, Tensor, Tensor]]]:
        """Overlaps (N,), and of each level: what enters the last layer (N, inter), V (N, bins, rows) and ``F H^T``
        (N, bins, rows, C), the bins being those of the horizontal axis."""
        self._look_at(corners)
        target = self._target
        overlap, levels = target.last_bias, []
        for level, (vertical, horizontal) in enumerate(self._weights.set_boxes(corners)):
            fmap = self._maps[level]
            count, bins, rows = vertical.shape
            vertical = torch.from_numpy(vertical).to(fmap.device)
            horizontal = torch.from_numpy(horizontal.reshape(count * bins, -1)).to(fmap.device)
            partial = (horizontal @ fmap).view(count, bins, rows, -1)
            pooled = vertical[:, None] @ partial  # (N, horizontal bins, vertical bins, C)
            pooled = pooled.reshape(count, target.weights[level].shape[1])
            hidden = torch.addmm(target.biases[level], pooled, target.weights[level].T).relu_()
            overlap = overlap + hidden @ target.last_weights[level]
            levels.append((hidden, vertical, partial))
        return overlap, levels

    def _look_at(self, corners: np.ndarray) -> None:
        sizes = [(fmap.shape[2], fmap.shape[3]) for fmap in self._features]
        extremes = (math.inf,) * 4
        if len(corners):
            extremes = (*corners[:, :2].min(0).tolist(), *corners[:, 2:].max(0).tolist())
        needed = [_touched(extremes, scale, size) for (_, scale), size in zip(LEVELS, sizes, strict=True)]
        windows = self._weights.windows if self._weights is not None else (None, None)
        if all(window is not None and window.contains(need) for window, need in zip(windows, needed, strict=True)):
            return
        fine, coarse = (need.grown(self._margin, size) for need, size in zip(needed, sizes, strict=True))
        self._weights = BinWeights((fine, coarse), corners.dtype)
        crops = [_crop(fmap, window) for fmap, window in zip(self._features, (fine, coarse), strict=True)]
        self._maps = [local[0].flatten(1) for local in self._target.local_maps(crops)]
