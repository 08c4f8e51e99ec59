"""The part of an IoU-Net's graph that single refinement steps and the whole refinement share."""
import numpy as np

from ltr.engine.onnx_file import GraphFile
from ltr.models.bbreg.box_head import FoldedLinear

LEVEL_NAMES = ("fine", "coarse")


def add_level(
    file: GraphFile, layer: FoldedLinear, cells: str, vertical: str, horizontal: str
) -> tuple[str, str, str]:
    """A level's contribution to the values (N, 1), and the gradients of its vertical and horizontal weights."""
    bins, channels = layer.bins, layer.channels
    by_box = file.constant(np.array([-1, bins, bins, channels]))
    flat = file.constant(np.array([-1, bins * bins * channels]))

    partial = file.node("MatMul", vertical, cells)  # (N, bins, columns * C)
    partial = file.node("Reshape", partial, file.constant(np.array([0, 0, -1, channels])))  # (N, bins, columns, C)
    pooled = file.node("Reshape", file.node("MatMul", horizontal, partial), flat)  # (N, bins * bins * C)
    weight, bias, last = (tensor.numpy() for tensor in (layer.weight, layer.bias, layer.last))
    sums = file.node("Gemm", pooled, file.constant(np.ascontiguousarray(weight.T)), file.constant(bias))
    value = file.node("MatMul", file.node("Relu", sums), file.constant(last[:, None]))

    active = file.node("Cast", file.node("Greater", sums, file.constant(np.float32(0))), to=1)
    # The rows of the linear layer are multiplied by the last layer's weights when the graph is built.
    back = file.node("MatMul", active, file.constant(last[:, None] * weight))
    back = file.node("Reshape", back, by_box)  # (N, vertical bins, horizontal bins, C)
    swapped = file.node("Transpose", partial, perm=[0, 1, 3, 2])
    in_horizontal = file.node("ReduceSum", file.node("MatMul", back, swapped), file.constant(np.array([1])), keepdims=0)
    spread = file.node("MatMul", file.node("Transpose", horizontal, perm=[0, 1, 3, 2]), back)  # (N, bins, columns, C)
    spread = file.node("Reshape", spread, file.constant(np.array([0, 0, -1])))
    in_vertical = file.node("MatMul", spread, file.node("Transpose", cells, perm=[1, 0]))
    return value, in_vertical, in_horizontal
