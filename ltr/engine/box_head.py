"""The IoU-Net on ONNX Runtime: its convolutions on a window of the maps, and values of boxes with their gradients.

The gradient is part of the graph: the transposes of a few matrix products, see
:class:`ltr.models.bbreg.box_head.TorchBoxHead`. Weights are constants, so ONNX Runtime packs them only once.
"""
from collections.abc import Sequence

import numpy as np
from torch import Tensor

from ltr.engine.box_levels import LEVEL_NAMES, add_level
from ltr.engine.climb import OnnxClimb
from ltr.engine.onnx_file import GraphFile
from ltr.engine.runtime import AdaptiveSession
from ltr.models.bbreg import IoUNet
from ltr.models.bbreg.box_head import LevelGradient, LevelWeights, LocalCrop, folded_linears
from ltr.models.inference import fold_norm


class OnnxBoxHead:
    """An IoU-Net in eval mode on up to ``threads`` threads of ONNX Runtime; see :class:`ltr.models.bbreg.BoxHead`."""

    dtype = np.dtype(np.float32)

    def __init__(self, network: IoUNet, threads: int) -> None:
        self._convolutions = AdaptiveSession(map_graph(network), threads)
        self._values = AdaptiveSession(value_graph(network), threads)
        self.climber = OnnxClimb(network, threads)

    def maps(self, crops: Sequence[LocalCrop], factors: Sequence[Tensor]) -> list[np.ndarray]:
        """The test branch's output times the target's channel factors, (rows, columns * C) for each level."""
        inputs = {}
        for level, crop, factor in zip(LEVEL_NAMES, crops, factors, strict=True):
            inputs[level] = crop.features.contiguous().numpy()
            inputs[f"{level}_factors"] = factor.numpy()
            for number, margins in enumerate((crop.first_margins, crop.second_margins), 1):
                left, right, top, bottom = margins
                inputs[f"{level}_margins{number}"] = np.array([0, 0, top, left, 0, 0, bottom, right])
        return [result[0].reshape(result.shape[1], -1) for result in self._convolutions.run_arrays(inputs)]

    def values(
        self, maps: Sequence[np.ndarray], weights: Sequence[LevelWeights]
    ) -> tuple[np.ndarray, list[LevelGradient]]:
        """Values (N,) of boxes, and their gradients with respect to each level's vertical and horizontal weights."""
        inputs = {}
        for level, local, (vertical, horizontal) in zip(LEVEL_NAMES, maps, weights, strict=True):
            inputs[f"{level}_map"] = local
            inputs[f"{level}_vertical"] = vertical
            inputs[f"{level}_horizontal"] = horizontal[:, None]
        value, *gradients = self._values.run_arrays(inputs)
        return value[:, 0], list(zip(gradients[::2], gradients[1::2], strict=True))


def map_graph(network: IoUNet) -> bytes:
    """Content of an ONNX file: the IoU-Net's test branch on a window of each level's map.

    Inputs are ``fine`` and ``coarse`` (1, C, rows, columns) and, for each, the target's channel factors
    (``fine_factors``) and the zero padding of the inputs of both convolutions (``fine_margins1`` and ``2``, in the
    format of ONNX's Pad). Outputs are (1, rows, columns, channels).
    """
    file = GraphFile("BoxBranches")
    blocks = ((network.conv3_1t, network.conv3_2t), (network.conv4_1t, network.conv4_2t))
    for level, convs in zip(LEVEL_NAMES, blocks, strict=True):
        x = file.input(level, (1, convs[0][0].in_channels, f"{level}_rows", f"{level}_columns"))
        for number, block in enumerate(convs, 1):
            margins = file.input(f"{level}_margins{number}", (8,), np.int64)
            constants = [file.constant(tensor.contiguous().numpy()) for tensor in fold_norm(block[0], block[1])]
            padded = file.node("Pad", x, margins)
            x = file.node("Relu", file.node("Conv", padded, *constants))
        factors = file.input(f"{level}_factors", (convs[1][0].out_channels,))
        scaled = file.node("Mul", file.node("Transpose", x, perm=[0, 2, 3, 1]), factors)
        sides = (1, f"{level}_out_rows", f"{level}_out_columns", convs[1][0].out_channels)
        file.output(f"{level}_map", scaled, sides)
    return file.to_bytes()


def value_graph(network: IoUNet) -> bytes:
    """Content of an ONNX file: values of boxes and their gradients with respect to the boxes' bin weights.

    Inputs per level: ``fine_map`` (rows, columns * C), ``fine_vertical`` (N, bins, rows) and ``fine_horizontal``
    (N, 1, bins, columns). Outputs: ``value`` (N, 1), and per level the gradients for both weights (N, bins, cells).
    """
    file = GraphFile("BoxValues")
    value = file.constant(network.iou_predictor.bias.detach().numpy())
    gradients = []
    for level, layer in zip(LEVEL_NAMES, folded_linears(network), strict=True):
        bins = layer.bins
        cells = file.input(f"{level}_map", (f"{level}_rows", f"{level}_columns_channels"))
        vertical = file.input(f"{level}_vertical", ("boxes", bins, f"{level}_rows"))
        horizontal = file.input(f"{level}_horizontal", ("boxes", 1, bins, f"{level}_columns"))
        added, vertical, horizontal = add_level(file, layer, cells, vertical, horizontal)
        value = file.node("Add", value, added)
        gradients += [(f"{level}_in_vertical", vertical), (f"{level}_in_horizontal", horizontal)]
    file.output("value", value, ("boxes", 1))
    for name, gradient in gradients:
        file.output(name, gradient, ("boxes", f"{name}_bins", f"{name}_cells"))
    return file.to_bytes()
