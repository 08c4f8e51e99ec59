"""IoU-Net folded for one target: the overlap of boxes and its gradient, without autograd and only where boxes are.

Refinement asks for ten boxes and their gradients five times a frame. Three things make that cheap and change no result:

* the target's channel factors and the batch norms are multiplied into weights once, on the first frame;
* the two 3x3 convolutions of each level run on the neighbourhood of the boxes alone, on just the cells their outputs
  need, so the values are those of the whole map; boxes that leave the neighbourhood make it grow;
* the gradient is written down: the pooled map is ``A F B^T``, with derivatives of A and B in closed form.
"""
from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from ltr.models.bbreg.bin_weights import LEVELS, BinWeights, Window
from ltr.models.bbreg.iou_net import POOLED_COARSE, POOLED_FINE, IoUNet, LinearBlock, Modulation, corners_from_xywh
from ltr.models.inference import fold_norm

ConvWeights = tuple[Tensor, Tensor]


def _touched(extremes: tuple[float, float, float, float], scale: float, size: tuple[int, int]) -> Window:
    """Smallest window with every cell that boxes within ``extremes`` draw from; the whole map if these are infinite."""
    if not all(math.isfinite(value) for value in extremes):
        return Window(0, size[0], 0, size[1])
    x1, y1, x2, y2 = (value * scale for value in extremes)
    top, left = min(max(math.floor(y1), 0), size[0] - 1), min(max(math.floor(x1), 0), size[1] - 1)
    bottom, right = min(max(math.ceil(y2), top), size[0] - 1), min(max(math.ceil(x2), left), size[1] - 1)
    return Window(top, bottom + 1, left, right + 1)


def _conv_relu(x: Tensor, conv: ConvWeights, out: Window, size: tuple[int, int]) -> Tensor:
    """3x3 convolution and ReLU on the cells of ``out``; ``x`` has one cell more on each side that is within the map."""
    padding = (out.left == 0, out.right == size[1], out.top == 0, out.bottom == size[0])
    if any(padding):
        x = functional.pad(x, [int(side) for side in padding])
    return functional.conv2d(x, *conv).relu_()


def _local_map(features: Tensor, convs: tuple[ConvWeights, ConvWeights], window: Window) -> Tensor:
    """The test branch's output in the window (cells, C), computed from no more of the features than it needs."""
    size = (features.shape[2], features.shape[3])
    between = window.grown(1, size)
    seen = between.grown(1, size)
    local = features[:, :, seen.top : seen.bottom, seen.left : seen.right]
    local = _conv_relu(_conv_relu(local, convs[0], between, size), convs[1], window, size)
    return local[0].permute(1, 2, 0).flatten(0, 1)


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
        self.convs = (
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
        return LocalIoU(self, (features["layer2"], features["layer3"]), margin)


class LocalIoU:
    """Overlap of boxes with the target in one frame; made by :meth:`TargetIoU.at`."""

    def __init__(self, target: TargetIoU, features: tuple[Tensor, Tensor], margin: int) -> None:
        self._target = target
        self._features = features
        self._margin = margin
        self._weights: BinWeights | None = None
        self._maps: list[Tensor] = []  # (cells, C) of each level's window

    @property
    def dtype(self) -> torch.dtype:
        """That boxes must have."""
        return self._features[0].dtype

    @torch.no_grad()
    def iou(self, boxes: Tensor) -> Tensor:
        """Predicted overlaps (N,) of boxes xywh in pixels (N, 4)."""
        return self._forward(corners_from_xywh(boxes))[0]

    @torch.no_grad()
    def iou_and_gradient(self, boxes: Tensor) -> tuple[Tensor, Tensor]:
        """Predicted overlaps (N,) and the gradient of each in its own box, x, y, w, h (N, 4)."""
        overlap, hidden, weights = self._forward(corners_from_xywh(boxes))
        gradients = []
        for level, (vertical, horizontal) in enumerate(weights):
            last = torch.where(hidden[level] > 0, self._target.last_weights[level], 0.0)
            pooled = (last @ self._target.weights[level]).view(-1, self._maps[level].shape[1])
            count, bins, rows = vertical.shape
            products = (pooled @ self._maps[level].T).view(count, bins, bins, rows, -1)  # in the multiplied weights
            in_vertical = (products * horizontal[:, None, :, None, :]).sum((2, 4))
            in_horizontal = (products * vertical[:, :, None, :, None]).sum((1, 3))
            gradients.append((in_vertical, in_horizontal))
        gradient = self._weights.corner_gradient(gradients)
        return overlap, torch.cat([gradient[:, :2] + gradient[:, 2:], gradient[:, 2:]], 1)

    def _forward(self, corners: Tensor) -> tuple[Tensor, list[Tensor], list[tuple[Tensor, Tensor]]]:
        """Overlaps (N,), what enters the last layer (N, inter) and the pooling weights of each level.

        The neighbourhood is small, so the weights of both axes are multiplied out and one product pools all boxes.
        """
        self._look_at(corners)
        target = self._target
        weights = self._weights.set_boxes(corners)
        overlap, hidden = target.last_bias, []
        for level, (vertical, horizontal) in enumerate(weights):
            products = vertical[:, :, None, :, None] * horizontal[:, None, :, None, :]  # (N, bins, bins, rows, columns)
            pooled = products.view(-1, len(self._maps[level])) @ self._maps[level]  # (N * bins * bins, C)
            pooled = pooled.view(len(corners), -1)
            hidden.append(torch.addmm(target.biases[level], pooled, target.weights[level].T).relu_())
            overlap = overlap + hidden[level] @ target.last_weights[level]
        return overlap, hidden, weights

    def _look_at(self, corners: Tensor) -> None:
        sizes = [(fmap.shape[2], fmap.shape[3]) for fmap in self._features]
        if corners.device.type == "cpu" and len(corners):
            extremes = (*corners[:, :2].amin(0).tolist(), *corners[:, 2:].amax(0).tolist())
        else:  # asking a GPU where the boxes are costs more than the whole map
            extremes = (math.inf,) * 4
        needed = [_touched(extremes, scale, size) for (_, scale), size in zip(LEVELS, sizes, strict=True)]
        windows = self._weights.windows if self._weights is not None else (None, None)
        if all(window is not None and window.contains(need) for window, need in zip(windows, needed, strict=True)):
            return
        fine, coarse = (need.grown(self._margin, size) for need, size in zip(needed, sizes, strict=True))
        self._weights = BinWeights((fine, coarse), corners)
        self._maps = [
            _local_map(fmap, convs, window)
            for fmap, convs, window in zip(self._features, self._target.convs, (fine, coarse), strict=True)
        ]
