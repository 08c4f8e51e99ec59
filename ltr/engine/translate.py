"""Translates a network's modules to an ONNX graph.

``torch.fx`` records the operations of a module; the few that occur in frozen networks have a translation here. Anything
else raises an :class:`UntranslatableError`, and the caller keeps using torch.
"""
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, fx, nn
from torch.nn import functional

from ltr.engine.onnx_file import GraphFile
from ltr.models.target_classifier.features import InstanceL2Norm


class UntranslatableError(ValueError):
    """A network uses an operation without a translation."""


class _Tracer(fx.Tracer):
    def is_leaf_module(self, module: nn.Module, module_qualified_name: str) -> bool:
        return isinstance(module, InstanceL2Norm) or super().is_leaf_module(module, module_qualified_name)


class Translator:
    """Adds a module's computation to a graph.

    Args:
        file: the graph.
        module: in eval mode with folded batch norms; its ``forward`` takes tensors and returns a tuple of tensors.
    """

    def __init__(self, file: GraphFile, module: nn.Module) -> None:
        self.file = file
        self.module = module
        self._constants: dict[int, str] = {}

    def run(self, *inputs: str) -> list[str]:
        """Applies the module to the values ``inputs`` of the graph and returns the names of its results."""
        waiting = list(inputs)
        values: dict[fx.Node, Any] = {}
        for node in _Tracer().trace(self.module).nodes:
            if node.op == "placeholder":
                values[node] = waiting.pop(0)
            elif node.op == "output":
                return list(fx.map_arg(node.args[0], values.__getitem__))
            else:
                values[node] = self._translate(node, values)
        raise UntranslatableError("a network without outputs")

    def _translate(self, node: fx.Node, values: dict[fx.Node, Any]) -> Any:
        arguments = fx.map_arg(list(node.args), values.__getitem__)
        options = fx.map_arg(dict(node.kwargs), values.__getitem__)
        if node.op == "get_attr":
            owner: Any = self.module
            for part in node.target.split("."):
                owner = getattr(owner, part)
            return owner
        if node.op == "call_module":
            layer = self.module.get_submodule(node.target)
            for kind, translate in MODULES.items():
                if isinstance(layer, kind):
                    return translate(self, layer, *arguments)
            raise UntranslatableError(f"layer {type(layer).__name__} ('{node.target}')")
        name = node.target if isinstance(node.target, str) else node.target.__name__
        translate = FUNCTIONS.get(name)
        if translate is None:
            raise UntranslatableError(f"operation '{name}'")
        return translate(self, *arguments, **options)

    def constant(self, tensor: Tensor) -> str:
        """A parameter as a constant of the graph; repeated calls return the same constant."""
        if id(tensor) not in self._constants:
            self._constants[id(tensor)] = self.file.constant(tensor.detach().cpu().contiguous().numpy())
        return self._constants[id(tensor)]

    def scalar(self, value: float) -> str:
        """A number as a constant of the graph."""
        return self.file.constant(np.float32(value))

    def convolve(
        self, x: str, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
        groups: int = 1,
    ) -> str:  # fmt: skip
        """``torch.conv2d``."""
        inputs = [x, self.constant(weight)] + ([] if bias is None else [self.constant(bias)])
        stride, padding, dilation = (_pair(value) for value in (stride, padding, dilation))
        return self.file.node(
            "Conv", *inputs, kernel_shape=weight.shape[2:], strides=stride, pads=padding * 2, dilations=dilation,
            group=groups,
        )  # fmt: skip

    def clip(self, x: str, low: float, high: float) -> str:
        """``torch.clamp``."""
        return self.file.node("Clip", x, self.scalar(low), self.scalar(high))


def _pair(value: int | tuple[int, int]) -> tuple[int, int]:
    if isinstance(value, str):
        raise UntranslatableError(f"padding {value!r}")
    return (value, value) if isinstance(value, int) else tuple(value)


def _conv_module(graph: Translator, layer: nn.Conv2d, x: str) -> str:
    if layer.padding_mode != "zeros":
        raise UntranslatableError(f"padding mode {layer.padding_mode!r}")
    return graph.convolve(x, layer.weight, layer.bias, layer.stride, layer.padding, layer.dilation, layer.groups)


def _max_pool(graph: Translator, layer: nn.MaxPool2d, x: str) -> str:
    if layer.ceil_mode or layer.return_indices or _pair(layer.dilation) != (1, 1):
        raise UntranslatableError(f"{layer}")
    kernel, stride, padding = (_pair(value) for value in (layer.kernel_size, layer.stride, layer.padding))
    return graph.file.node("MaxPool", x, kernel_shape=kernel, strides=stride, pads=padding * 2)


def _instance_norm(graph: Translator, layer: InstanceL2Norm, x: str) -> str:
    file = graph.file
    sides = file.node("Shape", x, start=1)
    count = file.node("Cast", file.node("ReduceProd", sides, keepdims=0), to=1)
    energy = file.node("Add", file.node("ReduceSumSquare", x, axes=[1, 2, 3], keepdims=1), graph.scalar(layer.eps))
    root = file.node("Sqrt", file.node("Div", count, energy))
    return file.node("Mul", x, file.node("Mul", root, graph.scalar(layer.scale)))


def _binary(name: str) -> Callable[..., str]:
    def translate(graph: Translator, first: str | float, second: str | float) -> str:
        values = [value if isinstance(value, str) else graph.scalar(value) for value in (first, second)]
        return graph.file.node(name, *values)

    return translate


def _unary(name: str) -> Callable[..., str]:
    return lambda graph, x, inplace=False: graph.file.node(name, x)


MODULES: dict[type, Callable[..., Any]] = {
    nn.Conv2d: _conv_module,
    nn.Identity: lambda graph, layer, x: x,
    nn.Dropout: lambda graph, layer, x: x,
    nn.ReLU6: lambda graph, layer, x: graph.clip(x, 0, 6),
    nn.ReLU: lambda graph, layer, x: graph.file.node("Relu", x),
    nn.MaxPool2d: _max_pool,
    InstanceL2Norm: _instance_norm,
}
# In-place operations are translated like the others: frozen networks never read overwritten values again.
FUNCTIONS: dict[str, Callable[..., Any]] = {
    torch.conv2d.__name__: Translator.convolve,
    torch.clamp.__name__: Translator.clip,
    torch.clamp_.__name__: Translator.clip,
    torch.relu.__name__: _unary("Relu"),
    torch.relu_.__name__: _unary("Relu"),
    functional.relu.__name__: _unary("Relu"),
    operator.add.__name__: _binary("Add"),
    operator.mul.__name__: _binary("Mul"),
    torch.rsqrt.__name__: lambda graph, x: graph.file.node("Reciprocal", graph.file.node("Sqrt", x)),
    "square": lambda graph, x: graph.file.node("Mul", x, x),
    "sqrt": _unary("Sqrt"),
}
