"""Frees the spatial size of an ONNX network's inputs and outputs.

The backbone was exported for search patches, and its first frame needs a smaller template. The declared sizes are the
only obstacle, so they are replaced in the serialised model (protocol buffers), without a package that can edit ONNX:
a number becomes a name of the same length in bytes, so nothing around it has to change.
"""
from __future__ import annotations

from collections.abc import Iterator

from ltr.errors import UserError

GRAPH, INPUT, OUTPUT = 7, 11, 12  # fields of ModelProto and GraphProto
TYPE, TENSOR, SHAPE, DIM = 2, 1, 2, 1  # the way from ValueInfoProto to its dimensions
VALUE_TAG, NAME_TAG = 0x08, 0x12  # of a dimension: a number, or the name of a free size
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5  # wire types
LONGEST_NUMBER = 10  # bytes of 64 bits, seven in each


def free_spatial_size(model: bytes) -> bytes:
    """The model with free height and width in every input and output of four dimensions; UserError if it is none."""
    edited = bytearray(model)
    values = [
        span
        for graph in _spans(model, (0, len(model)), GRAPH)
        for kind in (INPUT, OUTPUT)
        for span in _spans(model, graph, kind)
    ]
    if not values:
        raise UserError("these bytes are no ONNX model: they have no graph with inputs and outputs")
    for value in values:
        shapes = [value]
        for field in (TYPE, TENSOR, SHAPE):
            shapes = [inner for span in shapes for inner in _spans(model, span, field)]
        dimensions = [span for shape in shapes for span in _spans(model, shape, DIM)]
        for start, end in dimensions[2:] if len(dimensions) == 4 else []:
            if 0 <= end - start - 2 < 128 and model[start] == VALUE_TAG:
                edited[start] = NAME_TAG
                edited[start + 1] = end - start - 2
                edited[start + 2 : end] = b"s" * (end - start - 2)
    return bytes(edited)


def _spans(data: bytes, span: tuple[int, int], wanted: int) -> Iterator[tuple[int, int]]:
    """Where the contents of a message's field `wanted` begin and end."""
    place, end = span
    while place < end:
        key, place = _varint(data, place)
        kind = key & 7
        if kind == BYTES:
            length, place = _varint(data, place)
            if length > end - place:
                raise UserError(f"these bytes are no ONNX model: {length} bytes at byte {place} of {len(data)}")
            if key >> 3 == wanted:
                yield place, place + length
            place += length
        elif kind == VARINT:
            _, place = _varint(data, place)
        elif kind in (FIXED64, FIXED32):
            place += 8 if kind == FIXED64 else 4
        else:
            raise UserError(f"these bytes are no ONNX model: wire type {kind} at byte {place}")


def _varint(data: bytes, place: int) -> tuple[int, int]:
    value = 0
    for position, byte in enumerate(data[place : place + LONGEST_NUMBER]):
        value |= (byte & 0x7F) << 7 * position
        if byte < 0x80:
            return value, place + position + 1
    raise UserError("these bytes are no ONNX model: they end in the middle of a number")
