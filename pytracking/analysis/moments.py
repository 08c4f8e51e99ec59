"""Finds the frames at which one tracker holds the target and another has lost it."""
import itertools
from dataclasses import dataclass

import numpy as np

from pytracking.analysis.frames import frame_errors
from pytracking.evaluation.sequence import Sequence

SMOOTHING = 5  # frames; a single bad frame does not make a moment
APART = 25  # minimum distance of two moments, frames
LEAST_GAP = 0.1  # minimum difference of overlap


@dataclass(frozen=True)
class Moment:
    """A frame worth looking at."""

    frame: int  # 0-based
    better: str
    worse: str
    gap: float  # difference of overlap, averaged over SMOOTHING frames

    @property
    def text(self) -> str:
        """Describes the moment in one line."""
        where = f"around frame {self.frame + 1}"
        return f"{where}: {self.worse} {self.gap:.2f} below {self.better} (mean of {SMOOTHING} frames)"


def overlaps(boxes: np.ndarray, sequence: Sequence) -> np.ndarray:
    """Returns the overlap of each frame (n,), NaN where the target is absent or its box is not public."""
    if len(sequence.ground_truth_rect) != len(sequence):
        return np.full(len(sequence), np.nan)
    errors = frame_errors(boxes, sequence.ground_truth_rect, "strict", visible=sequence.target_visible)
    return np.where(errors.valid, errors.overlap, np.nan)


def worst_moments(scores: dict[str, np.ndarray], count: int = 8) -> list[Moment]:
    """Returns the moments at which overlaps (n,) differ most between two trackers, worst first.

    A single tracker is compared with the annotation.
    """
    names = list(scores)
    reference = {"annotation": np.ones_like(next(iter(scores.values())))} if len(names) == 1 else {}
    found: list[Moment] = []
    table = {**reference, **scores}
    for first, second in itertools.combinations(table, 2):
        found += _between(first, second, _smooth(table[first] - table[second]))
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
    """Moving average over SMOOTHING frames; frames without a target count as no gap."""
    kernel = np.ones(min(SMOOTHING, len(gap)))
    return np.convolve(np.nan_to_num(gap), kernel / kernel.size, mode="same")
