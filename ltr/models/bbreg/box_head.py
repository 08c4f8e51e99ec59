"""The parts of an IoU-Net that refinement runs per frame and step, folded, on torch.

:class:`BoxHead` is the interface for other engines.
"""
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
LevelGradient = tuple[np.ndarray, np.ndarray]  # gradients with respect to these


class LocalCrop(NamedTuple):
    """Input of one level's test branch for a window of its output."""

    features: Tensor  # the window of the backbone's map (1, C, rows, columns)
    first_margins: list[int]  # zero padding left, right, top, bottom: 1 at the map's border, otherwise 0
    second_margins: list[int]  # the same for the output of the first convolution


class FoldedLinear(NamedTuple):
    """A level's linear block with folded batch norm, and its part of the last layer."""

    weight: Tensor  # (inter, rows * columns of bins * C)
    bias: Tensor  # (inter,)
    last: Tensor  # (inter,)
    bins: int  # per side
    channels: int


class Ascent(NamedTuple):
    """A gradient ascent of boxes."""

    space: str  # of the coordinates, see pytracking.tracker.dimp.refinement
    iterations: int
    lengths: np.ndarray  # step lengths of the coordinates (4,) in the first step
    decay: float  # factor on the lengths after each step


class BoxClimber(Protocol):
    """Runs all steps of a gradient ascent of boxes in one call."""

    spaces: frozenset[str]  # supported spaces of coordinates

    def __call__(
        self, maps: Sequence[Any], windows: Sequence[Window], place: np.ndarray, ascent: Ascent
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Runs the ascent.

        Args:
            maps: result of :meth:`BoxHead.maps` for the windows.
            windows: of both levels.
            place: initial coordinates (N, 4).
            ascent: its parameters.

        Returns:
            Coordinates (N, 4) after all steps, values (N,) before the last step, and the maxima (6,) of
            ``-x1, -y1, x2, y2, -w, -h`` over all evaluated boxes. If these leave the windows or a side was not
            positive, the other results are invalid.
        """


class BoxHead(Protocol):
    """Interface of an IoU-Net's test branch, on any engine."""

    dtype: np.dtype  # of the bins' weights
    climber: BoxClimber | None  # if the engine has one

    def maps(self, crops: Sequence[LocalCrop], factors: Sequence[Tensor]) -> list[Any]:
        """Each level's output times the target's channel factors, as input for `values`."""

    def values(self, maps: Sequence[Any], weights: Sequence[LevelWeights]) -> tuple[np.ndarray, list[LevelGradient]]:
        """Values (N,) of boxes, and their gradients with respect to each level's bin weights."""


def folded_linears(network: IoUNet) -> list[FoldedLinear]:
    """The linear blocks of the fine and of the coarse level."""
    blocks = ((network.fc3_rt, POOLED_FINE), (network.fc4_rt, POOLED_COARSE))
    sizes = [block.linear.out_features for block, _ in blocks]
    lasts = network.iou_predictor.weight.detach()[0].split(sizes)
    return [_fold_linear(block, bins, last) for (block, bins), last in zip(blocks, lasts, strict=True)]


def _fold_linear(block: LinearBlock, bins: int, last: Tensor) -> FoldedLinear:
    weight, bias = fold_norm(block.linear, block.bn)
    weight = weight.unflatten(1, (-1, bins, bins))  # (inter, C, rows, columns of bins)
    return FoldedLinear(weight.permute(0, 2, 3, 1).flatten(1).contiguous(), bias, last, bins, weight.shape[1])


class TorchBoxHead:
    """:class:`BoxHead` on the device of a network in eval mode; later changes to the network have no effect.

    A box's bins are ``V F H^T`` in every channel of the map F. ``V F``, which both the bins and the gradient need, is
    one product for all boxes; all later operations work on the few columns of a box.
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
        value, gradients = self._bias, []  # vertical and horizontal gradients of each level in turn
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
    """Converts several tensors to numpy with a single synchronisation of their device."""
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
