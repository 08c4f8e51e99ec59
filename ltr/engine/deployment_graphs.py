"""Graphs for the steps around a DiMP network: preparing a patch, learning the first filter, scoring with it.

With these, a tracker in any language needs only a little code; see ``example_tracker.py``.
"""
from functools import partialmethod

import numpy as np

from ltr.engine.onnx_file import GraphFile
from ltr.models import imagenet
from ltr.models.target_classifier.filtering import score_length
from ltr.models.tracking.dimpnet import DiMPNet


class Graph(GraphFile):
    """A graph with arithmetic on named values and numbers."""

    def value(self, item: str | float | np.ndarray) -> str:
        """Returns the name of a value; numbers become constants."""
        return item if isinstance(item, str) else self.constant(np.asarray(item, np.float32))

    def squares(self, item: str) -> str:
        """The sum of all squares; every dimension is kept with length 1."""
        return self.node("ReduceSumSquare", item, keepdims=1)

    def _chain(self, operator: str, *items: str | float | np.ndarray) -> str:
        result, *others = (self.value(item) for item in items)
        for other in others:
            result = self.node(operator, result, other)
        return result

    add, minus = partialmethod(_chain, "Add"), partialmethod(_chain, "Sub")
    times, over = partialmethod(_chain, "Mul"), partialmethod(_chain, "Div")


def patch_graph() -> bytes:
    """Resizes and normalises a crop.

    Inputs ``crop`` (rows, columns, 3), RGB bytes, and ``side`` (2,), the patch's rows and columns; output ``image``
    (1, 3, rows, columns).
    """
    graph = Graph("Patch")
    crop, side = graph.input("crop", ("rows", "columns", 3), np.uint8), graph.input("side", (2,), np.int64)
    planes = graph.node("Unsqueeze", crop, graph.constant(np.array([0])))
    planes = graph.node("Transpose", graph.node("Cast", planes, to=1), perm=[0, 3, 1, 2])
    sizes = graph.node("Concat", graph.constant(np.array([1, 3])), side, axis=0)
    resized = graph.node("Resize", planes, "", "", sizes, mode="linear")
    mean, deviation = (255 * np.array(values).reshape(1, 3, 1, 1) for values in (imagenet.MEAN, imagenet.STD))
    image = graph.over(graph.minus(resized, mean), deviation)
    graph.output("image", image, (1, 3, "height", "width"))
    return graph.to_bytes()


def score_graph(network: DiMPNet) -> bytes:
    """Inputs ``features`` (n, C, h, w) and ``filter`` (1, C, k, k); output ``scores`` (n, 1, h', w')."""
    graph, channels, kernel = Graph("Scores"), _channels(network), network.filter_size
    features = graph.input("features", ("batch", channels, "rows", "columns"))
    filters = graph.input("filter", (1, channels, kernel, kernel))
    scores = graph.node("Conv", features, filters, pads=[kernel // 2] * 4)
    graph.output("scores", scores, ("batch", 1, "score_rows", "score_columns"))
    return graph.to_bytes()


def learning_graph(network: DiMPNet, steps: int, cells: int) -> bytes:
    """Learns the first filter: pooled from the target, then improved by steepest descent on DiMP's loss.

    Inputs ``features`` and ``initial`` (1, C, h, w) of a patch of ``cells`` x ``cells``, and the target's ``centre``
    (2,) and ``size`` (2,), y before x, in pixels of the patch; output ``filter`` (1, C, k, k).
    """
    graph, channels, kernel = Graph("Learning"), _channels(network), network.filter_size
    maps = (1, channels, cells, cells)
    features, initial = graph.input("features", maps), graph.input("initial", maps)
    centre, size = (
        graph.over(graph.input(name, (2,)), float(network.feature_stride)) for name in ("centre", "size")
    )  # in cells
    filters = _pool(graph, initial, centre, size, kernel, cells)
    label, mask, weight = _objective_maps(graph, network, centre, score_length(cells, kernel))
    optimizer = network.classifier.filter_optimizer
    reg, length = float(optimizer.regularisation()), float(optimizer.step_factor())
    by_channel = graph.node("Transpose", features, perm=[1, 0, 2, 3])
    pads = [kernel // 2] * 4
    falling, rising = graph.over(graph.minus(1.0, mask), 2.0), graph.over(graph.add(1.0, mask), 2.0)
    for _ in range(steps):
        scores = graph.node("Conv", features, filters, pads=pads)
        slope = graph.times(weight, graph.add(graph.times(falling, graph.node("Sign", scores)), rising))
        active = graph.add(graph.times(falling, graph.node("Abs", scores)), graph.times(rising, scores))
        residual = graph.times(weight, graph.minus(active, label))
        pulled = graph.node("Conv", by_channel, graph.times(slope, residual), pads=pads)  # (C, 1, k, k)
        gradient = graph.add(graph.node("Transpose", pulled, perm=[1, 0, 2, 3]), graph.times(reg, filters))
        moved = graph.times(slope, graph.node("Conv", features, gradient, pads=pads))
        energy = graph.squares(gradient)
        step = graph.over(graph.times(length, energy), graph.add(graph.squares(moved), graph.times(reg, energy)))
        filters = graph.minus(filters, graph.times(step, gradient))
    graph.output("filter", filters, (1, channels, kernel, kernel))
    return graph.to_bytes()


def _channels(network: DiMPNet) -> int:
    return network.classifier.filter_initializer.filter_conv.in_channels


def _pool(graph: Graph, maps: str, centre: str, size: str, bins: int, cells: int) -> str:
    """Precise RoI pooling of one box as ``V maps H^T``, see :mod:`ltr.ops.precise_roi_pool`."""
    column = graph.constant(np.array([1]))
    start, extent = (
        graph.node("Unsqueeze", each, column) for each in (graph.minus(centre, graph.over(size, 2.0)), size)
    )
    edges = graph.add(start, graph.times(extent, np.linspace(0, 1, bins + 1)[None]))  # (y and x, bins + 1)
    edges = graph.node("Unsqueeze", edges, graph.constant(np.array([2])))
    offset = graph.node("Clip", graph.minus(edges, np.arange(cells)), graph.value(-1.0), graph.value(1.0))
    mass = graph.times(offset, graph.minus(1.0, graph.over(graph.node("Abs", offset), 2.0)))
    differences = np.eye(bins, bins + 1, 1) - np.eye(bins, bins + 1)
    density = graph.node("Unsqueeze", graph.over(float(bins), extent), column)
    weights = graph.times(graph.node("MatMul", graph.value(differences), mass), density)  # (y and x, bins, cells)
    down, across = (graph.node("Gather", weights, graph.constant(np.array(axis)), axis=0) for axis in (0, 1))
    return graph.node("MatMul", graph.node("MatMul", down, maps), graph.node("Transpose", across, perm=[1, 0]))


def _objective_maps(graph: Graph, network: DiMPNet, centre: str, length: int) -> list[str]:
    """Label, mask and weight (length, length) as functions of the distance to the target's centre."""
    optimizer = network.classifier.filter_optimizer
    layers = (optimizer.label_map_predictor, optimizer.target_mask_predictor[0], optimizer.spatial_weight_predictor)
    tables = np.stack([layer.weight.detach().flatten().numpy() for layer in layers], axis=1)  # (bins, 3)
    last = len(tables) - 1
    middle = graph.minus(centre, network.filter_size % 2 / 2)
    row, column = (graph.node("Gather", middle, graph.constant(np.array(axis))) for axis in (0, 1))
    place = np.arange(length)
    squares = [graph.times(each, each) for each in (graph.minus(place[:, None], row), graph.minus(place, column))]
    distance = graph.over(graph.node("Sqrt", graph.add(*squares)), float(optimizer.bin_displacement))
    distance = graph.node("Unsqueeze", graph.node("Min", distance, graph.value(last)), graph.constant(np.array([2])))
    tents = graph.node("Relu", graph.minus(1.0, graph.node("Abs", graph.minus(distance, np.arange(last + 1)))))
    found = graph.node("MatMul", tents, graph.value(tables))  # (length, length, 3)
    label, mask, weight = (graph.node("Gather", found, graph.constant(np.array(axis)), axis=2) for axis in range(3))
    return [label, graph.node("Sigmoid", mask) if len(optimizer.target_mask_predictor) > 1 else mask, weight]
