"""Precise RoI pooling weights of one set of boxes on two feature levels, with their derivatives in the corners.

Refinement works on about ten boxes, for which the number of operations matters more than the arithmetic. Therefore this
uses numpy, whose operations on few numbers take half the time of torch's, and both levels and both axes share every
operation: the levels' bin edges are concatenated in one dimension, and the difference across the seam is ignored.
"""
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ltr.models.bbreg.iou_net import COARSE_SCALE, FINE_SCALE, POOLED_COARSE, POOLED_FINE

LEVELS = ((POOLED_FINE, FINE_SCALE), (POOLED_COARSE, COARSE_SCALE))  # bins per side, cells per pixel
SEAM = POOLED_FINE  # index of the meaningless bin between the levels


class Window(NamedTuple):
    """Rows ``top:bottom`` and columns ``left:right`` of a feature map."""

    top: int
    bottom: int
    left: int
    right: int

    @property
    def rows(self) -> int:
        return self.bottom - self.top

    @property
    def columns(self) -> int:
        return self.right - self.left

    def grown(self, margin: int, size: tuple[int, int]) -> Window:
        """The window enlarged by ``margin`` cells on each side, but not beyond the map."""
        rows = max(self.top - margin, 0), min(self.bottom + margin, size[0])
        return Window(*rows, max(self.left - margin, 0), min(self.right + margin, size[1]))


class BinWeights:
    """Weights of boxes in a window of cells on each level, fine and coarse."""

    def __init__(self, windows: tuple[Window, Window], dtype: np.dtype) -> None:
        self.windows = windows
        edges = [index / bins for bins, _ in LEVELS for index in range(bins + 1)]
        scales = [scale for bins, scale in LEVELS for _ in range(bins + 1)]
        counts = [bins for bins, _ in LEVELS for _ in range(bins + 1)][:-1]
        self._part = np.array(edges, dtype)  # position of each edge as a fraction of the box's extent, (E,)
        self._scale = np.array(scales, dtype)  # (E,)
        self._counts = np.array(counts, dtype)[:, None]  # (E - 1, 1)
        self._density = np.array(counts, dtype) / self._scale[:-1]  # inverse bin width in cells, times the extent
        lefts, tops = (
            [first for first, (bins, _) in zip(firsts, LEVELS, strict=True) for _ in range(bins + 1)]
            for firsts in ([window.left for window in windows], [window.top for window in windows])
        )
        self._origin = np.array([lefts, tops], dtype)[:, None]  # (x and y, 1, E)
        length = max(max(window.rows, window.columns) for window in windows)
        self._centres = np.arange(length, dtype=dtype)

    def set_boxes(self, corners: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """Weights of boxes ``x1, y1, x2, y2`` in pixels (N, 4); zero for boxes with an empty side.

        Returns:
            For each level the vertical weights (N, bins, rows) and the horizontal ones (N, bins, columns).
        """
        start, end = corners.T.reshape(2, 2, -1)  # (x and y, N) each
        extent = end - start
        inverse = np.divide(1, extent, out=np.zeros_like(extent), where=(extent > 0).all(0))[..., None]
        edges = (start[..., None] + extent[..., None] * self._part) * self._scale - self._origin
        offset = edges[..., None] - self._centres  # (x and y, N, E, length)
        np.clip(offset, -1, 1, out=offset)
        size = np.abs(offset)  # the hat is 1 - size; its integral from the centre is offset * (1 - size / 2)
        density = (inverse * self._density)[..., None]  # inverse bin widths in cells
        mean = _steps(offset * (1 - 0.5 * size))
        mean *= density
        self._store_slopes(mean, size, density)
        weights = []
        for (bins, _), first, window in zip(LEVELS, (0, SEAM + 1), self.windows, strict=True):
            horizontal, vertical = mean[:, :, first : first + bins]
            weights.append((vertical[..., : window.rows], horizontal[..., : window.columns]))
        return weights

    def _store_slopes(self, mean: np.ndarray, size: np.ndarray, density: np.ndarray) -> None:
        """Stores the means' derivatives in the box's ends, combined from those for shifting bins (hat at the end minus
        hat at the start) and for widening them (hat at the end minus mean), each over the bin's width.
        """
        shift = _steps(size)
        shift *= -density
        at_end = (1 - size[..., 1:, :] - mean) * (density / self._counts)
        at_end += shift * self._part[:-1, None]
        self._slopes = np.stack([shift - at_end, at_end])  # (start and end, x and y, N, E - 1, length)

    def corner_gradient(self, gradients: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
        """Converts gradients with respect to the weights of :meth:`set_boxes` to gradients of the corners (N, 4)."""
        whole = np.zeros_like(self._slopes[0])
        for (bins, scale), first, (vertical, horizontal) in zip(LEVELS, (0, SEAM + 1), gradients, strict=True):
            whole[0, :, first : first + bins, : horizontal.shape[-1]] = horizontal * scale
            whole[1, :, first : first + bins, : vertical.shape[-1]] = vertical * scale
        slopes = self._slopes.reshape(*self._slopes.shape[:3], -1)
        found = np.einsum("sanc,anc->nsa", slopes, whole.reshape(*whole.shape[:2], -1))  # (N, start and end, x and y)
        return found.reshape(-1, 4)


def _steps(values: np.ndarray) -> np.ndarray:
    """Differences of neighbours along the second-to-last axis."""
    return values[..., 1:, :] - values[..., :-1, :]
