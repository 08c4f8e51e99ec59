"""Square crops around jittered boxes, as a tracker sees them."""
from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np


@dataclass(frozen=True, slots=True, kw_only=True)
class CropGeometry:
    """Size of a search region."""

    output_side: int  # pixels of the square crop that enters the network
    search_area: float  # side of the region seen, in units of sqrt(width * height) of the target


@dataclass(frozen=True, slots=True, kw_only=True)
class Jitter:
    """How far the crop's centre and size stray from the target, as in a tracker's errors."""

    centre: float  # full range of the offset, in units of sqrt(width * height)
    scale: float  # deviation of the logarithm of the size


def jittered_region(
    box: np.ndarray, geometry: CropGeometry, jitter: Jitter, rng: np.random.Generator
) -> tuple[np.ndarray, float]:
    """Centre (2,) and side in image pixels of a random region around a box [x, y, w, h].

    The target's centre always stays inside the region.
    """
    target_side = float(np.sqrt(max(box[2] * box[3], 1.0)))
    jittered_side = target_side * np.exp(rng.normal() * jitter.scale)
    side = jittered_side * geometry.search_area
    offset = (rng.random(2) - 0.5) * jitter.centre * jittered_side
    limit = 0.45 * side
    return box[:2] + box[2:] / 2 + np.clip(offset, -limit, limit), max(side, 8.0)


def crop_region(image: np.ndarray, centre: np.ndarray, side: float, output_side: int) -> tuple[np.ndarray, float]:
    """Resamples a square region; pixels outside the image repeat its border.

    Returns:
        The crop (output_side, output_side, 3) and the number of its pixels for each pixel of the image.
    """
    factor = output_side / side
    if factor < 0.6:  # bilinear sampling would skip pixels: shrink the neighbourhood by area first
        image, centre, shrunk = _shrunk_neighbourhood(image, centre, side, factor)
    else:
        shrunk = 1.0
    local = factor / shrunk
    offset = (output_side - 1) / 2 - local * (centre - 0.5)  # warpAffine counts from pixel centres, boxes from edges
    matrix = np.array([[local, 0, offset[0]], [0, local, offset[1]]])
    crop = cv2.warpAffine(
        image, matrix, (output_side, output_side), flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE
    )
    return crop, factor


def _shrunk_neighbourhood(
    image: np.ndarray, centre: np.ndarray, side: float, factor: float
) -> tuple[np.ndarray, np.ndarray, float]:
    height, width = image.shape[:2]
    low = np.clip(np.floor(centre - side / 2).astype(int), 0, [width - 2, height - 2])
    high = np.clip(np.ceil(centre + side / 2).astype(int), low + 2, [width, height])
    part = image[low[1] : high[1], low[0] : high[0]]
    if min(part.shape[:2]) * factor < 2:
        return part, centre - low, 1.0
    small = cv2.resize(part, None, fx=factor, fy=factor, interpolation=cv2.INTER_AREA)
    return small, (centre - low) * factor, factor


def box_in_crop(box: np.ndarray, centre: np.ndarray, factor: float, output_side: int) -> np.ndarray:
    """A box [x, y, w, h] of the image in pixels of the crop."""
    return np.concatenate([(box[:2] - centre) * factor + output_side / 2, box[2:] * factor])
