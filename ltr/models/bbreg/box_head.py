"""The parts of an IoU-Net that refinement needs for each frame and step, folded, on torch.

Another engine may take their place: :class:`BoxHead` says what it must do.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from ltr.models.bbreg.bin_weights import Window
from ltr.models.bbreg.iou_net import POOLED_COARSE, POOLED_FINE, IoUNet, LinearBlock
from ltr.models.inference import fold_norm

ConvWeights = tuple[Tensor, Tensor]
LevelWeights = tuple[np.ndarray, np.ndarray]  # of boxes' bins: V (N, bins, rows), H (N, bins, columns)
LevelGradient = tuple[np.ndarray, np.ndarray]  # in these


class LocalCrop(NamedTuple):
    """What the test branch of one level needs for a window of its output."""

    features: Tensor  # the part of the backbone's map (1, C, rows, columns)
    first_margins: list[int]  # zeros around it: left, right, top, bottom, 1 where the window ends with the map, else 0
    second_margins: list[int]  # the same around what the first convolution gives


class FoldedLinear(NamedTuple):
    """A level's linear block, batch norm folded, with its part of the last layer."""

    weight: Tensor  # (inter, rows * columns of bins * C)
    bias: Tensor  # (inter,)
    last: Tensor  # (inter,)
    bins: int  # a side
    channels: int


class Ascent(NamedTuple):
    """A gradient ascent of boxes."""

    space: str  # of the coordinates, see pytracking.tracker.dimp.refinement
    iterations: int
    lengths: np.ndarray  # of the first step, for each coordinate (4,)
    decay: float  # factor on these after each step


class BoxClimber(Protocol):
    """Gradient ascent of boxes, all steps in one call."""

    spaces: frozenset[str]  # in which it can

    def __call__(
        self, maps: Sequence[Any], windows: Sequence[Window], place: np.ndarray, ascent: Ascent
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Coordinates (N, 4) of boxes after all steps, their values (N,) before the last, and how far they went.

        Args:
            maps: what :meth:`BoxHead.maps` gave for the windows.
            windows: of both levels.
            place: coordinates (N, 4) at the start.
            ascent: from there.

        Returns:
            The third are the largest ``-x1, -y1, x2, y2, -w, -h`` (6,) at which boxes were looked at. Where they leave
            the windows, or a side is not positive, the first two are not valid.
        """


class BoxHead(Protocol):
    """An IoU-Net's test branch, on any engine."""

    dtype: np.dtype  # of the bins' weights
    climber: BoxClimber | None  # where the engine has one

    def maps(self, crops: Sequence[LocalCrop], factors: Sequence[Tensor]) -> list[Any]:
        """Each level's output times the target's channel factors, in the form that `values` takes."""

    def values(self, maps: Sequence[Any], weights: Sequence[LevelWeights]) -> tuple[np.ndarray, list[LevelGradient]]:
        """Values (N,) of boxes, and their gradients in each level's bin weights."""


def folded_linears(network: IoUNet) -> list[FoldedLinear]:
    """Of the fine and of the coarse level."""
    blocks = ((network.fc3_rt, POOLED_FINE), (network.fc4_rt, POOLED_COARSE))
    sizes = [block.linear.out_features for block, _ in blocks]
    lasts = network.iou_predictor.weight.detach()[0].split(sizes)
    return [_fold_linear(block, bins, last) for (block, bins), last in zip(blocks, lasts, strict=True)]


def _fold_linear(block: LinearBlock, bins: int, last: Tensor) -> FoldedLinear:
    weight, bias = fold_norm(block.linear, block.bn)
    weight = weight.unflatten(1, (-1, bins, bins))  # (inter, C, rows, columns of bins)
    return FoldedLinear(weight.permute(0, 2, 3, 1).flatten(1).contiguous(), bias, last, bins, weight.shape[1])


class TorchBoxHead:
    """:class:`BoxHead` on the device of a network in eval mode, which is read once: later changes to it are not seen.

    A box's bins are ``V F H^T`` in every channel of the map F. What both the bins and the gradient need, ``V F``, is
    one product for all boxes, and everything after it works on a box's own few columns.
    """

    climber = None

    @torch.no_grad()
    def __init__(self, network: IoUNet) -> None:
        if network.training:
            raise ValueError("refinement folds batch norms, so the IoU-Net must be in eval mode: call network.eval()")
        self._convs = (
            (_fold_conv(network.conv3_1t), _fold_conv(network.conv3_2t)),
            (_fold_conv(network.conv4_1t), _fold_conv(network.conv4_2t)),
        )
        self._linears = folded_linears(network)
        self._bias = network.iou_predictor.bias.detach()
        self.dtype = torch.empty(0, dtype=self._bias.dtype).numpy().dtype

    def maps(self, crops: Sequence[LocalCrop], factors: Sequence[Tensor]) -> list[Tensor]:
        """(rows, columns * C) of each level."""
        maps = []
        for (first, second), crop, factor in zip(self._convs, crops, factors, strict=True):
            local = _conv_relu(crop.features, first, crop.first_margins)
            local = _conv_relu(local, second, crop.second_margins)
            maps.append((local.permute(0, 2, 3, 1) * factor)[0].flatten(1))
        return maps

    def values(self, maps: Sequence[Tensor], weights: Sequence[LevelWeights]) -> tuple[np.ndarray, list[LevelGradient]]:
        value, gradients = self._bias, []  # gradients of each level, vertical then horizontal
        for fmap, layer, level_weights in zip(maps, self._linears, weights, strict=True):
            vertical, horizontal = (torch.from_numpy(each).to(fmap.device) for each in level_weights)
            count, bins, columns = horizontal.shape
            partial = (vertical.reshape(count * bins, -1) @ fmap).view(count, bins, columns, -1)
            pooled = horizontal[:, None] @ partial  # (N, vertical bins, horizontal bins, C)
            pooled = pooled.reshape(count, layer.weight.shape[1])
            hidden = torch.addmm(layer.bias, pooled, layer.weight.T).relu_()
            value = value + hidden @ layer.last

            back = (torch.where(hidden > 0, layer.last, 0.0) @ layer.weight).view(count, bins, bins, -1)
            in_horizontal = (back @ partial.transpose(2, 3)).sum(1)  # (N, bins, columns)
            spread = horizontal.transpose(1, 2)[:, None] @ back  # (N, bins, columns, C)
            in_vertical = spread.flatten(2).flatten(0, 1) @ fmap.T  # (N * bins, rows)
            gradients += [in_vertical.view(count, bins, -1), in_horizontal]
        value, *gradients = _as_arrays([value, *gradients])
        return value, list(zip(gradients[::2], gradients[1::2], strict=True))


def _as_arrays(tensors: Sequence[Tensor]) -> list[np.ndarray]:
    """Several tensors in numpy, for one wait for their device."""
    if tensors[0].device.type == "cpu":
        return [tensor.numpy() for tensor in tensors]
    flat = torch.cat([tensor.flatten() for tensor in tensors]).cpu().split([tensor.numel() for tensor in tensors])
    return [part.numpy().reshape(tuple(tensor.shape)) for part, tensor in zip(flat, tensors, strict=True)]


def _fold_conv(block: nn.Sequential) -> ConvWeights:
    weight, bias = fold_norm(block[0], block[1])
    return weight.contiguous(memory_format=torch.channels_last), bias


def _conv_relu(x: Tensor, conv: ConvWeights, margins: list[int]) -> Tensor:
    """3x3 convolution and ReLU."""
    return functional.conv2d(functional.pad(x, margins) if any(margins) else x, *conv).relu_()
