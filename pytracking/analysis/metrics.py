"""Overlap, centre error, curves and areas: pure functions on arrays that know nothing of files, datasets or trackers.

Boxes are float ``[x, y, w, h]``. Every function broadcasts over leading axes, so one call scores all runs of a
sequence: ``overlap(runs (r, n, 4), ground_truth (n, 4)) -> (r, n)``. How an evaluator treats absent targets, empty
boxes and the first frame is decided in :mod:`pytracking.analysis.rules`.
"""
import numpy as np
from numpy.typing import ArrayLike

import ltr.overlap
from ltr.errors import UserError


def as_boxes(boxes: ArrayLike, what: str = "boxes") -> np.ndarray:
    """Converts boxes to float64; raises a UserError if the last axis is not 4."""
    array = np.asarray(boxes, dtype=np.float64)
    if array.ndim == 0 or array.shape[-1] != 4:
        raise UserError(f"{what}: expected [x, y, w, h] in the last axis, got an array of shape {array.shape}")
    return array


def overlap(boxes: ArrayLike, others: ArrayLike, *, pixel_corners: bool = False) -> np.ndarray:
    """Intersection over union of boxes (..., 4) in float64; see :func:`ltr.overlap.overlap`."""
    return ltr.overlap.overlap(as_boxes(boxes), as_boxes(others, "others"), pixel_corners=pixel_corners)


def centres(boxes: ArrayLike) -> np.ndarray:
    """Centre of the pixels that each box covers: ``xy + (wh - 1) / 2``."""
    array = as_boxes(boxes)
    return array[..., :2] + 0.5 * (array[..., 2:] - 1.0)


def centre_error(boxes: ArrayLike, ground_truth: ArrayLike) -> np.ndarray:
    """Euclidean distance between the centres, in pixels."""
    offset = centres(boxes) - centres(ground_truth)
    return np.sqrt(offset[..., 0] ** 2 + offset[..., 1] ** 2)


def normalised_centre_error(boxes: ArrayLike, ground_truth: ArrayLike) -> np.ndarray:
    """Distance between the centres, each axis divided by the true width or height.

    NaN or infinite where the true box is empty; the evaluator's rule decides how such a frame counts.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        offset = (centres(boxes) - centres(ground_truth)) / as_boxes(ground_truth)[..., 2:]
    return np.sqrt(offset[..., 0] ** 2 + offset[..., 1] ** 2)


def overlap_thresholds(gap: float = 0.05) -> np.ndarray:
    """Returns ``0, gap, ..., 1`` as multiples of the gap (0.15000000000000002, as in the public evaluators)."""
    steps = round(1.0 / gap)
    if steps < 1 or abs(steps * gap - 1.0) > 1e-9:
        raise UserError(f"gap: the distance between overlap thresholds must divide 1, got {gap}")
    return np.arange(steps + 1) * gap


def success_curve(
    overlaps: ArrayLike, thresholds: ArrayLike, total: float | None = None, *, inclusive: bool = False
) -> np.ndarray:
    """Fraction (..., k) of ``total`` frames (default: n) whose overlap (..., n) exceeds each threshold (k,).

    NaN counts as a failure; ``inclusive`` counts ``overlap >= threshold`` instead of ``>``.
    """
    values = np.where(np.isnan(overlaps), -np.inf, np.asarray(overlaps, dtype=np.float64))
    return _divide(_count_above(values, np.asarray(thresholds, np.float64), inclusive), values.shape[-1], total)


def precision_curve(errors: ArrayLike, thresholds: ArrayLike, total: float | None = None) -> np.ndarray:
    """Fraction of frames whose error is at most each threshold: (..., n) -> (..., k). NaN counts as a failure."""
    values = np.where(np.isnan(errors), np.inf, np.asarray(errors, dtype=np.float64))
    above = _count_above(values, np.asarray(thresholds, np.float64), inclusive=False)
    return _divide(values.shape[-1] - above, values.shape[-1], total)


def _count_above(values: np.ndarray, thresholds: np.ndarray, inclusive: bool) -> np.ndarray:
    """Counts the values (..., n) above each threshold (k,), by binary search rather than an (n, k) table."""
    k = len(thresholds)
    flat = values.reshape(-1, values.shape[-1])  # (r, n)
    # a value in bin b lies above thresholds[0 .. b - 1]
    bins = np.searchsorted(thresholds, flat, side="right" if inclusive else "left")
    bins += np.arange(len(flat))[:, None] * (k + 1)
    histogram = np.bincount(bins.ravel(), minlength=len(flat) * (k + 1)).reshape(len(flat), k + 1)
    above = flat.shape[1] - np.cumsum(histogram[:, :k], axis=1)
    return above.reshape(*values.shape[:-1], k)


def _divide(hits: np.ndarray, frames: int, total: float | None) -> np.ndarray:
    total = frames if total is None else total
    if total <= 0:
        raise UserError("total: no frame of the sequence counts, so there is nothing to divide by")
    return hits / float(total)


def value_at(curve: ArrayLike, thresholds: ArrayLike, threshold: float) -> np.ndarray:
    """Returns the curve's value at one of its thresholds: (..., k) -> (...)."""
    grid = np.asarray(thresholds)
    nearest = int(np.argmin(np.abs(grid - threshold)))
    if abs(grid[nearest] - threshold) > 1e-9:
        raise UserError(f"threshold: {threshold} is not among the {len(grid)} thresholds of this curve")
    return np.asarray(curve)[..., nearest]


def trapezoid(curve: ArrayLike, thresholds: ArrayLike) -> np.ndarray:
    """Area under a curve whose threshold axis is scaled to length 1: (..., k) -> (...)."""
    values, grid = np.asarray(curve, np.float64), np.asarray(thresholds, np.float64)
    steps = np.diff(grid)
    # dividing by the summed steps gives a curve of ones an area of exactly 1
    return 0.5 * ((values[..., 1:] + values[..., :-1]) * steps).sum(axis=-1) / steps.sum()
