"""Crops around jittered boxes that imitate a tracker's search regions."""
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
    """Random offsets of a crop's centre and size from the target, imitating a tracker's errors."""

    centre: float  # full range of the offset, in units of sqrt(width * height)
    scale: float  # standard deviation of the logarithm of the size
    aspect: float = 0.0  # standard deviation of the logarithm of the aspect ratio


def jittered_region(
    box: np.ndarray, geometry: CropGeometry, jitter: Jitter, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Draws a region around a box [x, y, w, h] that contains the box's centre.

    Returns:
        Centre (2,) and sides (2,) of the region in image pixels.
    """
    target_side = float(np.sqrt(max(box[2] * box[3], 1.0)))
    jittered_side = target_side * np.exp(rng.normal() * jitter.scale)
    side = jittered_side * geometry.search_area
    offset = (rng.random(2) - 0.5) * jitter.centre * jittered_side
    stretch = np.exp(rng.normal() * jitter.aspect / 2) if jitter.aspect else 1.0
    sides = np.maximum(side * np.array([stretch, 1 / stretch]), 8.0)
    limit = 0.45 * sides
    return box[:2] + box[2:] / 2 + np.clip(offset, -limit, limit), sides


def crop_region(
    image: np.ndarray, centre: np.ndarray, sides: np.ndarray, output_side: int, backdrop: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Resamples a region to a square; pixels outside the image repeat its border or show the `backdrop`.

    Returns:
        The crop (output_side, output_side, 3) and its pixels per image pixel along x and y (2,).
    """
    factor = output_side / np.asarray(sides, float)
    if factor.min() < 0.6:  # bilinear sampling would skip pixels: shrink the neighbourhood by area first
        image, centre, shrunk = _shrunk_neighbourhood(image, centre, sides, factor)
    else:
        shrunk = 1.0
    local = factor / shrunk
    offset = (output_side - 1) / 2 - local * (centre - 0.5)  # warpAffine counts from pixel centres, boxes from edges
    matrix = np.array([[local[0], 0, offset[0]], [0, local[1], offset[1]]])
    square = (output_side, output_side)
    if backdrop is None:
        crop = cv2.warpAffine(image, matrix, square, flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    else:
        crop = cv2.resize(backdrop, square, interpolation=cv2.INTER_AREA)
        cv2.warpAffine(image, matrix, square, dst=crop, flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_TRANSPARENT)
    return crop, factor


def random_window(image: np.ndarray, rng: np.random.Generator, share: tuple[float, float] = (0.5, 1.0)) -> np.ndarray:
    """A random part of an image; the ratio of its sides to the image's is drawn from the range `share`."""
    height, width = image.shape[:2]
    size = np.maximum(np.array([width, height]) * rng.uniform(*share), 2).astype(int)
    left, top = (rng.random(2) * (np.array([width, height]) - size)).astype(int)
    return image[top : top + size[1], left : left + size[0]]


def _shrunk_neighbourhood(
    image: np.ndarray, centre: np.ndarray, sides: np.ndarray, factor: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    height, width = image.shape[:2]
    low = np.clip(np.floor(centre - sides / 2).astype(int), 0, [width - 2, height - 2])
    high = np.clip(np.ceil(centre + sides / 2).astype(int), low + 2, [width, height])
    part = image[low[1] : high[1], low[0] : high[0]]
    size = np.maximum(np.round((high - low) * np.minimum(factor, 1.0)).astype(int), 1)
    small = cv2.resize(part, size.tolist(), interpolation=cv2.INTER_AREA)
    shrunk = size / (high - low)  # not exactly `factor`, because sizes are whole pixels
    return small, (centre - low) * shrunk, shrunk


def box_in_crop(box: np.ndarray, centre: np.ndarray, factor: np.ndarray, output_side: int) -> np.ndarray:
    """Converts a box [x, y, w, h] from image pixels to crop pixels."""
    return np.concatenate([(box[:2] - centre) * factor + output_side / 2, box[2:] * factor])
