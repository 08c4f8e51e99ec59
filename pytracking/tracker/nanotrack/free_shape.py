"""Makes the spatial size of an ONNX network's inputs and outputs variable.

The backbone was exported for search patches, but the first frame needs a smaller template, and only the declared sizes
prevent that. They are edited in the serialised model (protocol buffers), without a package for ONNX: each number is
replaced by a symbolic name of the same length in bytes, so nothing else has to change.
"""
from collections.abc import Iterator

from ltr.errors import UserError

GRAPH, INPUT, OUTPUT = 7, 11, 12  # fields of ModelProto and GraphProto
TYPE, TENSOR, SHAPE, DIM = 2, 1, 2, 1  # fields on the path from ValueInfoProto to its dimensions
VALUE_TAG, NAME_TAG = 0x08, 0x12  # a dimension is a number or the name of a variable size
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5  # wire types
MAX_VARINT_BYTES = 10  # 64 bits, seven per byte


def free_spatial_size(model: bytes) -> bytes:
    """Makes height and width of all 4-dimensional inputs and outputs variable; UserError if ``model`` is not ONNX."""
    edited = bytearray(model)
    values = [
        span
        for graph in _spans(model, (0, len(model)), GRAPH)
        for kind in (INPUT, OUTPUT)
        for span in _spans(model, graph, kind)
    ]
    if not values:
        raise UserError("not an ONNX model: there is no graph with inputs and outputs")
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
    """Yields start and end of the contents of each field `wanted` in a message."""
    position, end = span
    while position < end:
        key, position = _varint(data, position)
        wire_type = key & 7
        if wire_type == BYTES:
            length, position = _varint(data, position)
            if length > end - position:
                raise UserError(f"not an ONNX model: a field of {length} bytes at byte {position} of {len(data)}")
            if key >> 3 == wanted:
                yield position, position + length
            position += length
        elif wire_type == VARINT:
            _, position = _varint(data, position)
        elif wire_type in (FIXED64, FIXED32):
            position += 8 if wire_type == FIXED64 else 4
        else:
            raise UserError(f"not an ONNX model: wire type {wire_type} at byte {position}")


def _varint(data: bytes, start: int) -> tuple[int, int]:
    """The number that begins at ``start``, and the position after it."""
    value = 0
    for index, byte in enumerate(data[start : start + MAX_VARINT_BYTES]):
        value |= (byte & 0x7F) << 7 * index
        if byte < 0x80:
            return value, start + index + 1
    raise UserError("not an ONNX model: a number is incomplete")
