"""Localises the target in a score map and judges how reliable the result is."""
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from pytracking.tracker.dimp.params import DimpParams

Flag = Literal["normal", "uncertain", "hard_negative", "not_found"]


@dataclass(frozen=True, slots=True)
class Localization:
    """Position of the target relative to the patch's middle."""

    flag: Flag
    translation: np.ndarray  # (2,) y, x in frame pixels
    scores: np.ndarray  # (h, w) in which the second peak was sought: with the window or without
    max_score: float


@dataclass(frozen=True, slots=True)
class Peak:
    """The highest cell of a score map."""

    score: float
    cell: np.ndarray  # (2,) row, col
    translation: np.ndarray  # (2,) cells from the map's middle


@dataclass(frozen=True, slots=True, kw_only=True)
class Localizer:
    """Finds the peak of a score map and judges it by its height and by the highest other peak."""

    not_found_threshold: float  # below it, the target is not there
    distractor_threshold: float  # a second peak above this fraction of the first may be the target instead
    hard_negative_threshold: float  # a second peak above this fraction of the first is worth learning from
    displacement_scale: float  # fraction of half the map; peaks further from the expected position are far
    neighborhood_scale: float  # target sizes; the second peak lies outside this area around the first
    #: displacements are measured from the last position (new) or from the middle of the map (rls)
    displacement_origin: Literal["new", "rls"] = "new"
    window: np.ndarray | None = None  # (h, w) factors of the scores
    second_peak_without_window: bool = False
    uncertain_threshold: float | None = None  # below it, the peak is uncertain
    hard_sample_threshold: float | None = None  # below it, the frame is learnt from at once
    interpolate_peak: bool = False  # place the peak between cells, on the parabolas through its neighbours
    middle: np.ndarray | None = None  # (2,) row, col of a target in the patch's middle; None: the map's own middle
    advanced: bool = True  # False: accept every peak as normal

    def __call__(
        self, scores: np.ndarray, cell_size: np.ndarray, last_offset: np.ndarray, target_size: np.ndarray
    ) -> Localization:
        """Localises the target.

        Args:
            scores: (h, w) of the classifier.
            cell_size: (h, w) of a cell of the map, in frame pixels.
            last_offset: (y, x) of the target in the last frame relative to the patch's middle, in frame pixels.
            target_size: (h, w) in frame pixels.
        """
        windowed = scores if self.window is None else scores * self.window
        second_scores = scores if self.second_peak_without_window else windowed
        flag, peak = "normal", find_peak(windowed, self.middle)
        if self.advanced:
            flag, peak = self._judge(peak, second_scores, last_offset / cell_size, target_size / cell_size)
        translation = peak.translation
        if self.interpolate_peak:
            translation = translation + parabola_offset(scores, peak.cell)
        return Localization(flag, translation * cell_size, second_scores, float(second_scores.max()))

    def _judge(
        self, first: Peak, second_scores: np.ndarray, last_offset: np.ndarray, target_size: np.ndarray
    ) -> tuple[Flag, Peak]:  # from here on, lengths are in cells
        if first.score < self.not_found_threshold:
            return "not_found", first
        if self.uncertain_threshold is not None and first.score < self.uncertain_threshold:
            return "uncertain", first
        if self.hard_sample_threshold is not None and first.score < self.hard_sample_threshold:
            return "hard_negative", first
        second = find_peak(self._without_neighborhood(second_scores, first, target_size), self.middle)
        if second.score > self.distractor_threshold * first.score:
            return self._judge_rivals(first, second, second_scores.shape, last_offset)
        if second.score > self.hard_negative_threshold * first.score and second.score > self.not_found_threshold:
            return "hard_negative", first
        return "normal", first

    def _without_neighborhood(self, scores: np.ndarray, peak: Peak, target_size: np.ndarray) -> np.ndarray:
        half = self.neighborhood_scale * target_size / 2
        ends = np.round([peak.cell - half, peak.cell + half + 1]).astype(int)
        (top, left), (bottom, right) = np.maximum(ends, 0)
        scores = scores.copy()
        scores[top:bottom, left:right] = 0
        return scores

    def _judge_rivals(
        self, first: Peak, second: Peak, shape: tuple[int, int], last_offset: np.ndarray
    ) -> tuple[Flag, Peak]:
        """Chooses between two similar peaks: the one near the expected position if the other is far from it."""
        expected = last_offset if self.displacement_origin == "new" else np.zeros(2)
        far = self.displacement_scale * np.sqrt(shape[0] * shape[1]) / 2
        moved_first = np.linalg.norm(first.translation - expected)
        moved_second = np.linalg.norm(second.translation - expected)
        if moved_second > far and moved_first < far:
            return "hard_negative", first
        if moved_second < far and moved_first > far:
            return "hard_negative", second
        return "uncertain", first


def find_peak(scores: np.ndarray, middle: np.ndarray | None = None) -> Peak:
    """The highest cell of ``scores`` (h, w), the first of several; ``middle`` as in :class:`Localizer`."""
    cell = np.array(np.unravel_index(scores.argmax(), scores.shape))
    if middle is None:
        middle = (np.array(scores.shape) - 1) / 2
    return Peak(float(scores[tuple(cell)]), cell, cell - middle)


def parabola_offset(scores: np.ndarray, cell: np.ndarray) -> np.ndarray:
    """Offset (2,) row, col of the interpolated maximum from the highest cell, at most half a cell.

    Along each axis, the maximum of the parabola through the cell and its two neighbours; 0 at the map's border.
    """
    offset = np.zeros(2)
    for axis in (0, 1):
        line = scores[:, cell[1]] if axis == 0 else scores[cell[0]]
        index = int(cell[axis])
        if 0 < index < len(line) - 1:
            before, top, after = (float(v) for v in line[index - 1 : index + 2])
            curvature = before - 2 * top + after
            if curvature < 0:
                offset[axis] = np.clip(0.5 * (before - after) / curvature, -0.5, 0.5)
    return offset


def localizer_for(params: DimpParams, **options: Any) -> Localizer:
    """Creates a localiser from the parameters; ``options`` are further fields or replace the parameters' values."""
    values = {
        "not_found_threshold": params.target_not_found_threshold,
        "distractor_threshold": params.distractor_threshold,
        "hard_negative_threshold": params.hard_negative_threshold,
        "displacement_scale": params.displacement_scale,
        "neighborhood_scale": params.target_neighborhood_scale,
        "displacement_origin": params.displacement_origin,
        "second_peak_without_window": params.perform_hn_without_windowing,
        "uncertain_threshold": params.uncertain_threshold,
        "hard_sample_threshold": params.hard_sample_threshold,
        "interpolate_peak": params.interpolate_peak,
        "advanced": params.advanced_localization,
    }
    return Localizer(**values | options)
