"""Writes ONNX files without the ``onnx`` package: the part of the format that convolutional networks need.

An ONNX file is one protocol-buffers message. Field numbers below come from ``onnx.proto3`` (IR version 8, operator
set 17, which ONNX Runtime reads since 1.12).
"""
from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np

IR_VERSION, OPERATOR_SET = 8, 17
ELEMENT_TYPES = {np.dtype(np.float32): 1, np.dtype(np.uint8): 2, np.dtype(np.int64): 7, np.dtype(bool): 9}
ATTRIBUTE_FLOAT, ATTRIBUTE_INT, ATTRIBUTE_STRING, ATTRIBUTE_GRAPH, ATTRIBUTE_INTS = 1, 2, 3, 5, 7
Attribute = float | int | str | Sequence[int]


def varint(value: int) -> bytes:
    """Seven bits per byte, lowest first; the highest bit is set if more bytes follow."""
    value &= 2**64 - 1  # negative numbers as two's complement
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def _number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def _message(field: int, content: bytes | str) -> bytes:
    content = content.encode() if isinstance(content, str) else content
    return varint(field << 3 | 2) + varint(len(content)) + content


def _attribute(name: str, value: Attribute) -> bytes:
    if isinstance(value, float):
        return _message(1, name) + varint(2 << 3 | 5) + struct.pack("<f", value) + _number(20, ATTRIBUTE_FLOAT)
    if isinstance(value, int):
        return _message(1, name) + _number(3, value) + _number(20, ATTRIBUTE_INT)
    if isinstance(value, str):
        return _message(1, name) + _message(4, value) + _number(20, ATTRIBUTE_STRING)
    return _message(1, name) + b"".join(_number(8, int(item)) for item in value) + _number(20, ATTRIBUTE_INTS)


class GraphFile:
    """A graph under construction, whose values are identified by name."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._nodes: list[bytes] = []
        self._constants: list[bytes] = []
        self._inputs: list[bytes] = []
        self._outputs: list[bytes] = []
        self._count = 0

    def input(self, name: str, shape: Sequence[int | str], dtype: type = np.float32) -> str:
        """Adds an input; dimensions given as words may have any length."""
        self._inputs.append(self._value(name, shape, dtype))
        return name

    def output(self, name: str, value: str, shape: Sequence[int | str], dtype: type = np.float32) -> None:
        """Makes ``value`` an output of the graph under the name ``name``."""
        self.rename(value, name)
        self._outputs.append(self._value(name, shape, dtype))

    def rename(self, value: str, name: str) -> None:
        """Gives ``value`` an additional name."""
        self._add_node("Identity", [value], [name])

    def constant(self, array: np.ndarray) -> str:
        """Adds a constant and returns its name."""
        name = self._new_name("constant")
        array = np.array(array, order="C")  # keeps the shape () of a scalar
        content = b"".join(_number(1, side) for side in array.shape)
        content += _number(2, ELEMENT_TYPES[array.dtype]) + _message(8, name) + _message(9, array.tobytes())
        self._constants.append(content)
        return name

    def node(self, operator: str, *inputs: str, **attributes: Attribute) -> str:
        """Adds a standard operator and returns the name of its (first) result; omitted inputs are ``""``."""
        result = self._new_name(operator)
        encoded = (_message(5, _attribute(name, value)) for name, value in attributes.items())
        self._add_node(operator, inputs, [result], b"".join(encoded))
        return result

    def loop(self, count: str, body: GraphFile, *initial: str) -> list[str]:
        """Adds a loop and returns the names of its final results.

        Args:
            count: value with the number of rounds, an int64 scalar.
            body: a graph with an input and an output for each of ``initial``, in order; outputs are the next round's
                inputs. It may also use this graph's values, so its name must differ from this graph's.
            initial: inputs of the first round.
        """
        number, more = body._new_name("round"), body._new_name("more")
        body._inputs[:0] = [body._value(number, (), np.int64), body._value(more, (), bool)]
        body._outputs.insert(0, body._value(body.node("Identity", more), (), bool))
        content = _message(1, "body") + _message(6, body._content()) + _number(20, ATTRIBUTE_GRAPH)
        results = [self._new_name("Loop") for _ in initial]
        self._add_node("Loop", [count, "", *initial], results, _message(5, content))
        return results

    def _add_node(self, operator: str, inputs: Sequence[str], results: Sequence[str], attributes: bytes = b"") -> None:
        content = b"".join(_message(1, name) for name in inputs) + b"".join(_message(2, name) for name in results)
        self._nodes.append(content + _message(4, operator) + attributes)

    def to_bytes(self) -> bytes:
        """The file's content."""
        content = _number(1, IR_VERSION) + _message(2, "rls-tracking") + _message(7, self._content())
        return content + _message(8, _message(1, "") + _number(2, OPERATOR_SET))

    def _content(self) -> bytes:
        graph = b"".join(_message(1, node) for node in self._nodes) + _message(2, self.name)
        graph += b"".join(_message(5, constant) for constant in self._constants)
        graph += b"".join(_message(11, value) for value in self._inputs)
        return graph + b"".join(_message(12, value) for value in self._outputs)

    def _new_name(self, word: str) -> str:
        self._count += 1
        return f"{self.name}_{word}_{self._count}"

    @staticmethod
    def _value(name: str, shape: Sequence[int | str], dtype: type) -> bytes:
        sides = (_message(2, side) if isinstance(side, str) else _number(1, side) for side in shape)
        tensor = _number(1, ELEMENT_TYPES[np.dtype(dtype)]) + _message(2, b"".join(_message(1, side) for side in sides))
        return _message(1, name) + _message(2, _message(1, tensor))
