"""Computes the errors of each frame from its boxes, under an evaluator's rule."""
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ltr.errors import UserError
from pytracking.analysis import metrics
from pytracking.analysis.rules import DEFAULT_RULE, EvaluatorRule, get_rule


@dataclass(frozen=True)
class FrameErrors:
    """Errors of every frame that the rule considers; leading axes are runs."""

    overlap: np.ndarray  # (..., n)
    centre: np.ndarray  # (..., n) pixels
    centre_normalised: np.ndarray  # (..., n) relative to the target's size
    valid: np.ndarray  # (n,) bool: the frame has a usable true box


def frame_errors(
    prediction: ArrayLike,
    ground_truth: ArrayLike,
    rule: str | EvaluatorRule = DEFAULT_RULE,
    *,
    visible: ArrayLike | None = None,
    image_size: tuple[float, float] | None = None,
    cover: ArrayLike | None = None,
) -> FrameErrors:
    """Returns the overlap and centre errors of each frame, as the evaluator counts them.

    Args:
        prediction: boxes (..., m, 4); leading axes are runs.
        ground_truth: boxes (n, 4); NaN where the target is absent or not annotated.
        visible: (n,) whether the target is visible, if the dataset has such flags.
        image_size: (width, height), for rules that clip boxes to the image.
        cover: (n,) how much of the target is visible (GOT-10k), 0 = nothing.

    Raises:
        UserError: if lengths differ in a way the rule does not handle, or if a prediction is NaN or has negative size.
    """
    rule = get_rule(rule)
    truth = metrics.as_boxes(ground_truth, "ground_truth")  # (n, 4)
    boxes = repair_prediction(prediction, truth, rule)  # (..., n, 4)
    seen = None if visible is None else _flags(visible, len(truth), "visible")
    valid = valid_frames(truth, rule, seen)
    if rule.use_cover and cover is not None:
        valid &= _flags(np.asarray(cover, np.float64) > 0, len(truth), "cover")
    if rule.skip_first_frame:
        truth, boxes, valid = truth[1:], boxes[..., 1:, :], valid[1:]
        seen = None if seen is None else seen[1:]
    if rule.round_boxes:
        truth, boxes = np.round(truth), np.round(boxes)
    if rule.clip_to_image and image_size is not None:
        truth, boxes = clip_boxes(truth, image_size), clip_boxes(boxes, image_size)

    overlap = metrics.overlap(boxes, truth, pixel_corners=rule.pixel_corners)
    overlap = np.where(valid, overlap, rule.invalid_overlap)
    centre = metrics.centre_error(boxes, truth)
    if rule.round_centre_error is not None:
        centre = np.round(centre, rule.round_centre_error)
    normalised = metrics.normalised_centre_error(boxes, truth)
    centre = _replace_invalid(centre, valid, rule.invalid_centre)
    normalised = _replace_invalid(normalised, valid, rule.invalid_normalised)
    if seen is not None:
        centre = _replace_invalid(centre, seen, rule.invisible_error)
        normalised = _replace_invalid(normalised, seen, rule.invisible_error)
    return FrameErrors(overlap, centre, normalised, valid)


def valid_frames(ground_truth: np.ndarray, rule: EvaluatorRule, visible: np.ndarray | None = None) -> np.ndarray:
    """Returns which frames have a true box that the evaluator accepts: (n, 4) -> (n,) bool."""
    needed = {"any": ground_truth[:, :0], "sized": ground_truth[:, 2:], "positive": ground_truth}[rule.usable_box]
    valid = np.isfinite(ground_truth).all(axis=1) & (needed > 0).all(axis=1)
    return valid if visible is None or not rule.use_visibility else valid & visible


def repair_prediction(prediction: ArrayLike, ground_truth: np.ndarray, rule: EvaluatorRule) -> np.ndarray:
    """Applies the evaluator's repairs to predictions: empty boxes, the length, the first frame."""
    boxes = metrics.as_boxes(prediction, "prediction")
    if boxes.ndim < 2:
        raise UserError(f"prediction: expected boxes (..., n, 4), got an array of shape {boxes.shape}")
    if not rule.repeat_nan and np.isnan(boxes).any():
        raise UserError(f"prediction: NaN in {_first_frame(np.isnan(boxes).any(axis=-1))}")
    if not rule.repeat_nan and (boxes[..., 2:] < 0).any():
        raise UserError(f"prediction: negative size in {_first_frame((boxes[..., 2:] < 0).any(axis=-1))}")
    if rule.repeat_empty:
        boxes = repeat_empty_boxes(boxes, ~np.isnan(ground_truth).any(axis=1))
    boxes = _fit_length(boxes, len(ground_truth), rule)
    if not rule.skip_first_frame:
        boxes = boxes.copy()
        boxes[..., 0, :] = ground_truth[0]
    return boxes


def repeat_empty_boxes(boxes: np.ndarray, replaceable: np.ndarray) -> np.ndarray:
    """Replaces empty and NaN boxes by the box before them, in frames >= 1 that are ``replaceable`` (n,)."""
    empty = ~(boxes[..., 2:] > 0).all(axis=-1)  # (..., m); true for NaN
    if not empty.any():
        return boxes
    frames = boxes.shape[-2]
    allowed = np.zeros(frames, bool)
    allowed[1 : len(replaceable)] = replaceable[1:frames]
    source = np.where(empty & allowed, 0, np.arange(frames))  # frame 0 keeps itself
    source = np.maximum.accumulate(source, axis=-1)
    return np.take_along_axis(boxes, source[..., None], axis=-2)


def clip_boxes(boxes: np.ndarray, image_size: tuple[float, float]) -> np.ndarray:
    """Clips boxes to an image of (width, height) as GOT-10k's evaluator does."""
    limit = np.asarray(image_size, np.float64)
    corner = np.clip(boxes[..., :2], 0.0, limit)
    return np.concatenate([corner, np.clip(boxes[..., 2:], 0.0, limit - corner)], axis=-1)


def _fit_length(boxes: np.ndarray, frames: int, rule: EvaluatorRule) -> np.ndarray:
    rows = boxes.shape[-2]
    if rows == frames:
        return boxes
    if rows > frames and rule.cut_long:
        return boxes[..., :frames, :]
    if rows < frames and rule.pad_short:
        return np.concatenate([boxes, np.zeros((*boxes.shape[:-2], frames - rows, 4))], axis=-2)
    raise UserError(f"prediction: {rows} boxes for {frames} frames (rule '{rule.name}')")


def _replace_invalid(errors: np.ndarray, keep: np.ndarray, value: float) -> np.ndarray:
    return errors if np.isnan(value) else np.where(keep, errors, value)


def _flags(flags: ArrayLike, frames: int, what: str) -> np.ndarray:
    array = np.asarray(flags).astype(bool)
    if array.shape != (frames,):
        raise UserError(f"{what}: {array.shape} flags for {frames} frames")
    return array


def _first_frame(bad: np.ndarray) -> str:
    return f"frame {int(np.flatnonzero(bad.reshape(-1, bad.shape[-1]).any(axis=0))[0]) + 1}"
