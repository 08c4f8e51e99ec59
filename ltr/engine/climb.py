"""A whole box refinement as one graph: all steps of gradient ascent run without returning to Python.

A step combines :class:`~ltr.models.bbreg.bin_weights.BinWeights` and :class:`~ltr.engine.box_head.OnnxBoxHead`. The
ends of all bins of a box, in cells, are linear in its coordinates: one matrix product computes them, and its transpose
maps the gradient back. For a bin from l to u, with the hat function h and twice its integral I, a cell's weight is
``(I(u) - I(l)) / (2 (u - l))``; its derivative in u is ``(h(u) - weight) / (u - l)``, in l the same with h(l), negated.
"""
from collections.abc import Sequence
from functools import cache

import numpy as np

from ltr.engine.box_levels import LEVEL_NAMES, add_level
from ltr.engine.onnx_file import GraphFile
from ltr.engine.runtime import AdaptiveSession
from ltr.models.bbreg import IoUNet
from ltr.models.bbreg.bin_weights import LEVELS, Window
from ltr.models.bbreg.box_head import Ascent, folded_linears

BINS = [bins for bins, _ in LEVELS for _ in range(2)]  # vertical and horizontal bins of each level
TOTAL = sum(BINS)
CORNERS = {  # for each space, the matrix from a box's coordinates to its corners
    "default": np.array([[1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0], [0, 0, 0, 1]]),
    "edges": np.eye(4),
}
SIZES = np.array([[-1, 0], [0, -1], [1, 0], [0, 1]])  # width and height from corners
LEAST_BOXES = 2  # per thread: a single box would be rounded differently


@cache
def space_matrices(space: str) -> dict[str, np.ndarray]:
    """The graph's inputs that depend only on the space: matrices by which coordinates (N, 4) are multiplied."""
    ends = np.zeros((4, 2, TOTAL))  # from corners to lower and upper ends
    first = 0
    for bins, scale in LEVELS:
        for axis in (1, 0):
            for end in (0, 1):
                part = (np.arange(bins) + end) / bins
                ends[axis, end, first : first + bins] = scale * (1 - part)
                ends[axis + 2, end, first : first + bins] = scale * part
            first += bins
    corners = CORNERS[space]
    sizes = corners @ SIZES
    ends = np.einsum("pc,cet->pet", corners, ends)
    back = np.stack([-2 * ends[:, 0], 2 * ends[:, 1]], axis=1).reshape(4, -1).T
    matrices = {
        "ends": ends.reshape(4, -1),
        "double_widths": 2 * (ends[:, 1] - ends[:, 0]),
        "sizes": np.tile(sizes, 2),
        "outward": np.hstack([corners * [-1, -1, 1, 1], -sizes]),
        "back": back,
    }
    return {name: matrix.astype(np.float32) for name, matrix in matrices.items()}


class OnnxClimb:
    """:class:`ltr.models.bbreg.box_head.BoxClimber` on ONNX Runtime, in the spaces of :data:`CORNERS`.

    The boxes are divided among at most ``threads`` threads; ``network`` is in eval mode.
    """

    spaces = frozenset(CORNERS)

    def __init__(self, network: IoUNet, threads: int) -> None:
        graph = climb_graph(network)
        self._session = AdaptiveSession(graph, threads, batched=("place",), least=LEAST_BOXES, short=True)

    def __call__(
        self, maps: Sequence[np.ndarray], windows: Sequence[Window], place: np.ndarray, ascent: Ascent
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        inputs = {
            "place": place,
            "lengths": ascent.lengths.astype(np.float32),
            "decay": np.array(ascent.decay, np.float32),
            "iterations": np.array(ascent.iterations),
            **{f"{level}_map": fmap for level, fmap in zip(LEVEL_NAMES, maps, strict=True)},
        }
        inputs |= space_matrices(ascent.space) | window_inputs(tuple(windows))
        place, values, extremes = self._session.run_arrays(inputs, len(place))
        return place, values[:, 0], extremes.max(axis=0)


def window_inputs(windows: tuple[Window, Window]) -> dict[str, np.ndarray]:
    """The graph's inputs that depend on the windows."""
    sides = [side for window in windows for side in (window.rows, window.columns)]
    firsts = [first for window in windows for first in (window.top, window.left)]
    length = max(sides)
    return {
        "origin": np.tile(-np.repeat(np.array(firsts, np.float32), BINS), 2),
        "cells": np.arange(length, dtype=np.float32),
        "slice_ends": np.stack([np.cumsum(BINS), sides], axis=1),
        "pads": np.array([[0, 0, 0, 0, 0, length - side] for side in sides]),
    }


def climb_graph(network: IoUNet) -> bytes:
    """Content of an ONNX file whose inputs :meth:`OnnxClimb.__call__` provides by name."""
    file = GraphFile("BoxClimb")
    place = file.input("place", ("boxes", 4))
    file.input("lengths", (4,))
    file.input("decay", ())
    count = file.input("iterations", (), np.int64)
    for level in LEVEL_NAMES:
        file.input(f"{level}_map", (f"{level}_rows", f"{level}_columns_channels"))
    for name, matrix in space_matrices("default").items():
        file.input(name, matrix.shape)
    file.input("origin", (2 * TOTAL,))
    file.input("cells", ("length",))
    ends, pads = file.input("slice_ends", (len(BINS), 2), np.int64), file.input("pads", (len(BINS), 6), np.int64)
    for number in range(len(BINS)):
        index = file.constant(np.array(number))
        file.rename(file.node("Gather", ends, index), f"slice_end{number}")
        file.rename(file.node("Gather", pads, index), f"pads{number}")
    no_values = file.node("MatMul", place, file.constant(np.zeros((4, 1), np.float32)))
    results = file.loop(count, _step(network), place, "lengths", no_values, file.node("MatMul", place, "outward"))
    place, _, values, extremes = results
    file.output("climbed", place, ("boxes", 4))
    file.output("values", values, ("boxes", 1))
    file.output("extremes", extremes, ("boxes", 6))
    return file.to_bytes()


def _step(network: IoUNet) -> GraphFile:
    """The loop's body: one step of the ascent."""
    step = GraphFile("step")
    place = step.input("step_place", ("boxes", 4))
    lengths = step.input("step_lengths", (4,))
    step.input("step_values", ("boxes", 1))
    extremes = step.input("step_extremes", ("boxes", 6))

    weights, slopes, density = _bin_weights(step, place)
    value, gradients = step.constant(network.iou_predictor.bias.detach().numpy()), []
    for number, (level, layer) in enumerate(zip(LEVEL_NAMES, folded_linears(network), strict=True)):
        vertical, horizontal = weights[2 * number : 2 * number + 2]
        wide = step.node("Unsqueeze", horizontal, step.constant(np.array([1])))
        added, *found = add_level(step, layer, f"{level}_map", vertical, wide)
        value = step.node("Add", value, added)
        gradients += found
    gradient = _place_gradient(step, gradients, slopes, density)
    uphill = step.node("Mul", gradient, step.node("MatMul", place, "sizes"))

    step.output("next_place", step.node("Add", place, step.node("Mul", uphill, lengths)), ("boxes", 4))
    step.output("next_lengths", step.node("Mul", lengths, "decay"), (4,))
    step.output("next_values", value, ("boxes", 1))
    reached = step.node("Max", extremes, step.node("MatMul", place, "outward"))
    step.output("next_extremes", reached, ("boxes", 6))
    return step


def _bin_weights(step: GraphFile, place: str) -> tuple[list[str], str, str]:
    """The cells' weights (N, bins, cells) for each of BINS; hats minus weights at the lower and upper ends of all bins
    (N, 2, TOTAL, cells); and half the inverse of the bins' widths (N, TOTAL, 1).
    """
    ends = step.node("Gemm", place, "ends", "origin")
    ends = step.node("Reshape", ends, step.constant(np.array([0, 2, TOTAL, 1])))
    one = step.constant(np.float32(1))
    offset = step.node("Clip", step.node("Sub", ends, "cells"), step.constant(np.float32(-1)), one)
    hat = step.node("Sub", one, step.node("Abs", offset))
    integral = step.node("Add", offset, step.node("Mul", offset, hat))  # twice the hat's
    lower, upper = (step.node("Gather", integral, step.constant(np.array(end)), axis=1) for end in (0, 1))
    density = step.node("Reciprocal", step.node("MatMul", place, "double_widths"))
    density = step.node("Unsqueeze", density, step.constant(np.array([2])))
    mean = step.node("Mul", step.node("Sub", upper, lower), density)  # (N, TOTAL, cells)
    axes = step.constant(np.array([1, 2]))
    firsts = np.cumsum([0, *BINS[:-1]])
    weights = [
        step.node("Slice", mean, step.constant(np.array([first, 0])), f"slice_end{number}", axes)
        for number, first in enumerate(firsts)
    ]
    slopes = step.node("Sub", hat, step.node("Unsqueeze", mean, step.constant(np.array([1]))))
    return weights, slopes, density


def _place_gradient(step: GraphFile, gradients: list[str], slopes: str, density: str) -> str:
    """Converts gradients with respect to the weights of :func:`_bin_weights` to gradients of the coordinates (N, 4)."""
    padded = [step.node("Pad", each, f"pads{number}") for number, each in enumerate(gradients)]
    whole = step.node("Mul", step.node("Concat", *padded, axis=1), density)
    whole = step.node("Unsqueeze", whole, step.constant(np.array([1])))  # (N, 1, TOTAL, cells)
    at_ends = step.node("ReduceSum", step.node("Mul", slopes, whole), step.constant(np.array([3])), keepdims=0)
    return step.node("MatMul", step.node("Reshape", at_ends, step.constant(np.array([0, 2 * TOTAL]))), "back")
