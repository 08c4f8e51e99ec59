"""Turns frame errors into the curves of a sequence, and those of many sequences into the numbers of a table."""
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ltr.errors import UserError
from pytracking.analysis import metrics
from pytracking.analysis.frames import FrameErrors, frame_errors
from pytracking.analysis.rules import DEFAULT_RULE, EvaluatorRule, get_rule


@dataclass(frozen=True)
class SequenceScores:
    """Curves of one sequence; leading axes are runs."""

    success: np.ndarray  # (..., k)
    precision: np.ndarray  # (..., p)
    normalised_precision: np.ndarray  # (..., p)
    average_overlap: np.ndarray  # (...) mean overlap over the valid frames
    frames: int  # number of frames that the curves were divided by
    valid_frames: int


# Table columns -> fields of Summary, fractions of 1 as in the papers of OTB, LaSOT, GOT-10k, VOT and OxUvA. A new
# measure needs a line here, a field, and its formula in summary_of_curves.
MEASURES = {
    "AUC": "auc",
    "OP50": "op50",
    "OP75": "op75",
    "Precision": "precision",
    "Norm Precision": "normalised_precision",
    "AO": "average_overlap",
}


@dataclass(frozen=True)
class Summary:
    """The numbers of one tracker's row, as fractions of 1; leading axes are runs."""

    auc: np.ndarray
    op50: np.ndarray
    op75: np.ndarray
    precision: np.ndarray
    normalised_precision: np.ndarray
    average_overlap: np.ndarray
    success_curve: np.ndarray  # (..., k)
    precision_curve: np.ndarray  # (..., p)
    normalised_precision_curve: np.ndarray  # (..., p)


def score_frames(errors: FrameErrors, rule: EvaluatorRule) -> SequenceScores:
    """Computes the curves of a sequence from its frame errors."""
    valid = int(errors.valid.sum())
    frames = valid if rule.exclude_invalid else errors.valid.size
    if frames == 0:
        raise UserError("ground_truth: no frame with a usable box; the sequence cannot be scored")
    mean_overlap = errors.overlap[..., errors.valid].sum(axis=-1) / max(valid, 1)  # 0 without a valid frame
    return SequenceScores(
        success=metrics.success_curve(errors.overlap, rule.overlap_thresholds, frames, inclusive=rule.inclusive),
        precision=metrics.precision_curve(errors.centre, rule.pixel_thresholds, frames),
        normalised_precision=metrics.precision_curve(errors.centre_normalised, rule.normalised_thresholds, frames),
        average_overlap=mean_overlap,
        frames=frames,
        valid_frames=valid,
    )


def score_sequence(
    prediction: ArrayLike, ground_truth: ArrayLike, rule: str | EvaluatorRule = DEFAULT_RULE, **facts: object
) -> SequenceScores:
    """Computes the curves of a sequence from its boxes; ``facts`` are keywords of :func:`frames.frame_errors`."""
    rule = get_rule(rule)
    return score_frames(frame_errors(prediction, ground_truth, rule, **facts), rule)


def summarise(scores: Iterable[SequenceScores], rule: str | EvaluatorRule = DEFAULT_RULE) -> Summary:
    """Combines sequences as the rule says: each sequence, or each frame, has the same weight."""
    rule, scores = get_rule(rule), list(scores)
    if not scores:
        raise UserError("scores: no sequence to summarise")
    weights = np.array([s.frames if rule.pool_frames else 1.0 for s in scores])
    valid = np.array([s.valid_frames if rule.pool_frames else 1.0 for s in scores])
    return summary_of_curves(
        _mean([s.success for s in scores], weights, rule.drop_zero_curves),
        _mean([s.precision for s in scores], weights, rule.drop_zero_curves),
        _mean([s.normalised_precision for s in scores], weights, rule.drop_zero_curves),
        _weighted(np.stack([s.average_overlap for s in scores]), valid),
        rule,
    )


def summary_of_curves(
    success: np.ndarray, precision: np.ndarray, normalised: np.ndarray, overlap: np.ndarray, rule: EvaluatorRule
) -> Summary:
    """Computes the rule's numbers from (mean) curves; ``overlap`` is the mean overlap."""
    grid, pixels, sizes = rule.overlap_thresholds, rule.pixel_thresholds, rule.normalised_thresholds
    return Summary(
        auc=_area(success, grid, rule.auc, overlap),
        op50=metrics.value_at(success, grid, 0.5) if rule.gap <= 0.5 else np.full(success.shape[:-1], np.nan),
        op75=metrics.value_at(success, grid, 0.75) if rule.gap <= 0.25 else np.full(success.shape[:-1], np.nan),
        precision=_area(precision, pixels, rule.precision, overlap),
        normalised_precision=_area(normalised, sizes, rule.normalised, overlap),
        average_overlap=overlap,
        success_curve=success,
        precision_curve=precision,
        normalised_precision_curve=normalised,
    )


def _area(curve: np.ndarray, thresholds: np.ndarray, how: str, overlap: np.ndarray) -> np.ndarray:
    if how == "exact":
        return np.asarray(overlap)
    if how == "grid_mean":
        return curve.mean(axis=-1)
    if how == "trapezoid":
        return metrics.trapezoid(curve, thresholds)
    return metrics.value_at(curve, thresholds, float(how.removeprefix("at_")))


def _mean(curves: list[np.ndarray], weights: np.ndarray, drop_zero: bool) -> np.ndarray:
    stacked = np.stack(curves)  # (sequences, ..., k)
    spread = weights.reshape(-1, *[1] * (stacked.ndim - 2))
    if drop_zero:
        spread = spread * (stacked.sum(axis=-1) > np.finfo(float).eps)
    return _weighted(stacked, np.broadcast_to(spread[..., None], stacked.shape))


def _weighted(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    weights = weights.reshape(-1, *[1] * (values.ndim - 1)) if weights.ndim == 1 else weights
    total = weights.sum(axis=0)
    # a tracker that loses every sequence at once scores 0, although all its curves are dropped
    return (values * weights).sum(axis=0) / np.where(total == 0, 1.0, total)
