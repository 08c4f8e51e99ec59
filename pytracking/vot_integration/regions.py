"""Converts the regions of VOT's annotations to boxes, and rounds numbers as the TraX protocol does."""
from collections.abc import Sequence

import numpy as np

from ltr.errors import UserError

CONVERSIONS = ("preserve_area", "union")


class RegionError(UserError):
    """A region cannot be converted to a box; the message shows the region."""


def box_from_region(region: Sequence[float], conversion: str) -> np.ndarray:
    """Returns the axis-aligned box ``[x, y, w, h]`` for a region; RegionError if there is none.

    Args:
        region: ``x, y, w, h``, or the corners ``x1, y1, x2, y2, …`` of a polygon with at least three.
        conversion: for polygons, ``union`` (the smallest box around all corners) or ``preserve_area`` (that box, shrunk
            to the polygon's area and centred on the mean of the corners; used to evaluate DiMP).
    """
    numbers = np.asarray(region, dtype=np.float64).reshape(-1)
    shown = "[" + ", ".join(f"{number:g}" for number in numbers) + "]"
    if conversion not in CONVERSIONS:
        raise RegionError(f"unknown conversion '{conversion}' of polygons; known: {', '.join(CONVERSIONS)}")
    if not np.isfinite(numbers).all():
        raise RegionError(f"the region {shown} has numbers that are not finite")
    if numbers.size == 4:
        return numbers
    if numbers.size < 6 or numbers.size % 2:
        raise RegionError(f"the region {shown} has {numbers.size} numbers; expected 4 (x, y, w, h) or corners x, y")
    corners = numbers.reshape(-1, 2)
    top_left, bottom_right = corners.min(axis=0), corners.max(axis=0)
    extent = bottom_right - top_left
    if (extent <= 0).any():
        raise RegionError(f"the polygon {shown} has no area")
    if conversion == "union":
        return np.concatenate([top_left, extent])
    scale = np.sqrt(polygon_area(corners) / extent.prod())
    # Plus one pixel, because corners are pixel centres: a box from pixel 0 to pixel 9 is 10 pixels wide.
    size = scale * extent + 1
    return np.concatenate([corners.mean(axis=0) - size / 2, size])


def polygon_area(corners: np.ndarray) -> float:
    """Area of a polygon with corners (n, 2).

    VOT's four-cornered polygons are meant as rotated rectangles: as in the challenge's own conversion, their area is
    the product of two adjacent sides, even if the annotated corners are slightly askew.
    """
    if len(corners) == 4:
        sides = np.linalg.norm(np.diff(corners[:3], axis=0), axis=1)
        return float(sides.prod())
    x, y = corners.T
    return float(abs(x @ np.roll(y, -1) - y @ np.roll(x, -1)) / 2)


def on_the_wire(numbers: Sequence[float]) -> list[float]:
    """Rounds numbers as a TraX connection does: to float32, to four decimals in text, and to float32 again.

    Overlaps depend on this rounding, so a run without TraX must do the same to get the same results.
    """
    return [float(np.float32(f"{np.float32(number):.4f}")) for number in numbers]
