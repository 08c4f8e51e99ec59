"""Where trackers differ: the frames at which one holds the target and the other has lost it."""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pytracking.analysis.frames import frame_errors
from pytracking.evaluation.sequence import Sequence

SMOOTHING = 5  # frames; a single bad frame is no moment
APART = 25  # frames between two moments
LEAST_GAP = 0.1  # of overlap; less is no loss


@dataclass(frozen=True)
class Moment:
    """A frame worth looking at."""

    frame: int  # 0-based
    better: str
    worse: str
    gap: float  # difference of overlap, averaged over a few frames

    @property
    def text(self) -> str:
        """One line for a list."""
        where = f"around frame {self.frame + 1}"
        return f"{where}: {self.worse} {self.gap:.2f} below {self.better} (mean of {SMOOTHING} frames)"


def overlaps(boxes: np.ndarray, sequence: Sequence) -> np.ndarray:
    """Overlap of each frame, NaN where the target is absent or its box is not public: (n,)."""
    if len(sequence.ground_truth_rect) != len(sequence):
        return np.full(len(sequence), np.nan)
    errors = frame_errors(boxes, sequence.ground_truth_rect, "strict", visible=sequence.target_visible)
    return np.where(errors.valid, errors.overlap, np.nan)


def worst_moments(scores: dict[str, np.ndarray], count: int = 8) -> list[Moment]:
    """Moments of the largest loss of overlap (n,) between two trackers, or of one alone; the worst first."""
    names = list(scores)
    reference = {"annotation": np.ones_like(next(iter(scores.values())))} if len(names) == 1 else {}
    found: list[Moment] = []
    table = {**reference, **scores}
    for place, better in enumerate(table):
        for worse in list(table)[place + 1 :]:
            found += _between(better, worse, _smooth(table[better] - table[worse]))
    found.sort(key=lambda moment: -moment.gap)
    chosen: list[Moment] = []
    for moment in found:
        if all(abs(moment.frame - other.frame) >= APART for other in chosen):
            chosen.append(moment)
    return chosen[:count]


def _between(first: str, second: str, gap: np.ndarray) -> list[Moment]:
    moments, size = [], np.abs(gap)
    while size.max(initial=0) >= LEAST_GAP:
        frame = int(size.argmax())
        better, worse = (first, second) if gap[frame] > 0 else (second, first)
        moments.append(Moment(frame, better, worse, float(size[frame])))
        size[max(0, frame - APART + 1) : frame + APART] = 0
    return moments


def _smooth(gap: np.ndarray) -> np.ndarray:
    """Mean over a few frames; frames without a target count as no gap."""
    kernel = np.ones(min(SMOOTHING, len(gap)))
    return np.convolve(np.nan_to_num(gap), kernel / kernel.size, mode="same")
