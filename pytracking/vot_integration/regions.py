"""From the regions of VOT's annotations to boxes, and what the TraX protocol does to numbers."""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ltr.errors import UserError

CONVERSIONS = ("preserve_area", "union")


class RegionError(UserError):
    """A region that no box can be made of; the message shows it."""


def box_from_region(region: Sequence[float], conversion: str) -> np.ndarray:
    """The axis-aligned box ``[x, y, w, h]`` that a tracker starts on; RegionError where there is none.

    Args:
        region: ``x, y, w, h``, or the corners ``x1, y1, x2, y2, …`` of a polygon with three or more of them.
        conversion: for polygons, ``union`` (the smallest box around all corners) or ``preserve_area`` (that box, shrunk
            about the corners' mean until its area is the polygon's; the way DiMP is evaluated).
    """
    numbers = np.asarray(region, dtype=np.float64).reshape(-1)
    shown = "[" + ", ".join(f"{number:g}" for number in numbers) + "]"
    if conversion not in CONVERSIONS:
        raise RegionError(f"unknown conversion '{conversion}' of polygons, there are: {', '.join(CONVERSIONS)}")
    if not np.isfinite(numbers).all():
        raise RegionError(f"the region {shown} is not made of finite numbers")
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
    # One pixel more, because corners are pixel centres: a box from pixel 0 to pixel 9 is 10 pixels wide.
    size = scale * extent + 1
    return np.concatenate([corners.mean(axis=0) - size / 2, size])


def polygon_area(corners: np.ndarray) -> float:
    """Area of a polygon with corners (n, 2).

    VOT's polygons have four corners and are meant as rotated rectangles; there the area is the product of two adjacent
    sides, as the challenge's own conversion has it, even where the annotated corners are slightly askew.
    """
    if len(corners) == 4:
        sides = np.linalg.norm(np.diff(corners[:3], axis=0), axis=1)
        return float(sides.prod())
    x, y = corners.T
    return float(abs(x @ np.roll(y, -1) - y @ np.roll(x, -1)) / 2)


def on_the_wire(numbers: Sequence[float]) -> list[float]:
    """Numbers as the other end of a TraX connection reads them: float32, printed with four decimals, float32 again.

    Overlaps are counted on rounded coordinates, so that a run without TraX equals one with it only if it does the same.
    """
    return [float(np.float32(f"{np.float32(number):.4f}")) for number in numbers]
