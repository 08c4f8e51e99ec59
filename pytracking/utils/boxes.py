"""Boxes as float arrays ``[x, y, w, h]`` (0-based pixels); any other format says so in its name."""
from typing import Any

import numpy as np

from ltr.errors import UserError


class BoxError(UserError):
    """An initial box that trackers cannot use."""


def to_cxcywh(boxes: np.ndarray) -> np.ndarray:
    """Centre and size of boxes ``(..., 4)``."""
    boxes = np.asarray(boxes, dtype=np.float64)
    return np.concatenate([boxes[..., :2] + boxes[..., 2:] / 2, boxes[..., 2:]], axis=-1)


def from_cxcywh(boxes_cxcywh: np.ndarray) -> np.ndarray:
    """Inverse of :func:`to_cxcywh`."""
    boxes = np.asarray(boxes_cxcywh, dtype=np.float64)
    return np.concatenate([boxes[..., :2] - boxes[..., 2:] / 2, boxes[..., 2:]], axis=-1)


def clip_to_image(boxes: np.ndarray, image_size: tuple[int, int]) -> np.ndarray:
    """Clips boxes ``(..., 4)`` to an image of ``image_size`` (height, width); the result may be empty."""
    boxes = np.asarray(boxes, dtype=np.float64)
    height, width = image_size
    limits = np.array([width, height], dtype=np.float64)
    top_left = np.clip(boxes[..., :2], 0, limits)
    bottom_right = np.clip(boxes[..., :2] + boxes[..., 2:], 0, limits)
    return np.concatenate([top_left, np.maximum(bottom_right - top_left, 0)], axis=-1)


def check_initial_box(box: Any, image_size: tuple[int, int], where: str) -> np.ndarray:
    """Returns a valid initial box as float64; it may be partly outside the image.

    Raises a BoxError starting with ``where`` if it is not four finite numbers, has no area or is entirely outside.
    """
    try:
        box = np.asarray(box, dtype=np.float64).reshape(-1)
    except (TypeError, ValueError) as error:
        raise BoxError(f"{where}: the first box must be four numbers x, y, w, h, not {box!r}") from error
    shown = "[" + ", ".join(f"{value:g}" for value in box) + "]"
    if box.shape != (4,):
        raise BoxError(f"{where}: the first box must be four numbers x, y, w, h, not {shown}")
    if not np.isfinite(box).all():
        raise BoxError(f"{where}: the first box {shown} is not finite; start at a frame where the target is visible")
    if (box[2:] <= 0).any():
        raise BoxError(f"{where}: the first box {shown} has zero or negative size")
    if (clip_to_image(box, image_size)[2:] <= 0).any():
        height, width = image_size
        raise BoxError(f"{where}: the first box {shown} lies outside the image ({width}x{height})")
    return box
