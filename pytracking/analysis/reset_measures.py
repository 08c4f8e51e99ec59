"""VOT's measures of runs with resets (VOT2016 to VOT2019), on arrays.

A run is described by its overlaps (n,) and its states (n,): ``INITIALISED`` where the tracker was given the box,
``FAILED`` where it lost the target, ``SKIPPED`` in the frames before it is given the box again, else ``TRACKED``. The
numbers agree with the official toolkit's own functions (tested); the toolkit measures overlap on rasterised regions, so
take the overlaps from it where its numbers are to be met.
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike

TRACKED, SKIPPED, INITIALISED, FAILED = -1, 0, 1, 2
BURN_IN = 10  # frames after each initialisation that do not count for the accuracy
EAO_INTERVALS = {"vot16": (108, 371), "vot17": (100, 356), "vot18": (100, 356), "vot19": (46, 291)}


def accuracy(overlaps: ArrayLike, states: ArrayLike, burn_in: int = BURN_IN) -> float:
    """Mean overlap of the tracked frames, without the first ``burn_in`` of each (re)initialisation; 0 if none."""
    values, codes = np.asarray(overlaps, np.float64), np.asarray(states)
    counts = (codes != SKIPPED) & (codes != FAILED)
    for start in np.flatnonzero(codes == INITIALISED):
        counts[start : start + burn_in] = False
    return float(values[counts].mean()) if counts.any() else 0.0


def failures(states: ArrayLike) -> int:
    """How often the target was lost."""
    return int((np.asarray(states) == FAILED).sum())


def reliability(failure_rate: float, mean_length: float, frames: float = 100.0) -> float:
    """``R_S = exp(-S R_fr / N_frames)``: the probability to track on for S frames since the last failure.

    Args:
        failure_rate: mean number of failures a sequence, R_fr.
        mean_length: mean number of frames a sequence, N_frames.
        frames: S.
    """
    return float(np.exp(-frames * failure_rate / mean_length))


def fragments(overlaps: ArrayLike, states: ArrayLike) -> list[tuple[np.ndarray, bool]]:
    """The run from each initialisation to its failure or the end: ``(overlaps, whether it reached the end)``."""
    values, codes = np.asarray(overlaps, np.float64), np.asarray(states)
    starts, ends = np.flatnonzero(codes == INITIALISED), np.flatnonzero(codes == FAILED)
    pieces = [(values[start:end], False) for start, end in zip(starts, ends, strict=False)]
    if len(starts) > len(ends):
        pieces.append((values[starts[-1] :], True))
    return pieces


def eao_curve(pieces: Sequence[tuple[np.ndarray, bool]]) -> np.ndarray:
    """Expected average overlap of sequences of length 1, 2, ...

    A failed fragment goes on with overlap 0; one that reached the end of its sequence says nothing about longer ones.
    """
    if not pieces:
        raise ValueError("pieces: no fragment")
    longest = max(len(values) for values, _ in pieces)
    total, weight = np.zeros(longest), np.zeros(longest)
    for values, reached_end in pieces:
        length = len(values) if reached_end else longest
        padded = np.zeros(length)
        padded[: len(values)] = values
        mean = padded.copy()  # the first entry is the frame of the initialisation itself, which no mean contains
        mean[1:] = np.cumsum(padded[1:]) / np.arange(1, length)
        total[:length] += mean
        weight[:length] += 1
    with np.errstate(invalid="ignore"):
        return total / weight


def expected_average_overlap(curve: ArrayLike, low: int, high: int) -> float:
    """Mean of the curve over the year's interval of lengths (``EAO_INTERVALS``), both ends included."""
    return float(np.mean(np.asarray(curve)[low : high + 1]))


def weighted_accuracy_and_failures(
    runs: Iterable[Sequence[tuple[ArrayLike, ArrayLike]]], burn_in: int = BURN_IN
) -> tuple[float, float, float]:
    """Accuracy, failures a sequence, and mean length over sequences, as the toolkit weighs them.

    Args:
        runs: for each sequence its repetitions, each as (overlaps, states).
        burn_in: see :func:`accuracy`.

    Returns:
        Accuracy and failures, averaged over repetitions and then over sequences weighted by length; the mean length.
    """
    table = []  # accuracy, failures, length
    for repetitions in runs:
        table.append(
            (
                np.mean([accuracy(overlaps, states, burn_in) for overlaps, states in repetitions]),
                np.mean([failures(states) for _, states in repetitions]),
                len(np.asarray(repetitions[0][1])),
            )
        )
    scores, lost, lengths = np.array(table, np.float64).T
    return float(np.average(scores, weights=lengths)), float(np.average(lost, weights=lengths)), float(lengths.mean())
