"""Intersection over union for NumPy arrays and PyTorch tensors; imports torch only if given a tensor."""
import importlib
from typing import TypeVar

import numpy as np

Array = TypeVar("Array")  # numpy.ndarray or torch.Tensor


def overlap(boxes: Array, others: Array, *, pixel_corners: bool = False) -> Array:
    """Intersection over union of boxes x, y, w, h (..., 4); NaN where a box is NaN, 0 where both boxes are empty.

    Args:
        pixel_corners: compute with the last pixel ``x + w - 1`` and add the 1 back, as the public evaluators do. The
            result differs only by rounding, but equal boxes then overlap by 1 plus or minus 2e-16, which may miss the
            threshold 1. By default, equal boxes overlap by exactly 1.
    """
    library = importlib.import_module("torch") if hasattr(boxes, "new_tensor") else np
    pixel = 1.0 if pixel_corners else 0.0
    near, size, other_near, other_size = boxes[..., :2], boxes[..., 2:], others[..., :2], others[..., 2:]
    far = library.minimum(near + size - pixel, other_near + other_size - pixel)
    sides = far - library.maximum(near, other_near) + pixel
    if not pixel_corners:
        same = (near == other_near) & (size == other_size)
        sides = library.where(same, size, sides)  # x + w - x need not equal w in floating point
    intersection = sides.clip(min=0).prod(-1)
    union = area(boxes) + area(others) - intersection
    with np.errstate(invalid="ignore", divide="ignore"):
        return intersection / library.where((union == 0) & (intersection == 0), 1.0, union)


def area(boxes: Array) -> Array:
    """Width times height of boxes (..., 4); 0 for a box with a negative side."""
    return boxes[..., 2:].clip(min=0).prod(-1)
