"""The rules of LaSOT's, OTB's and TrackingNet's evaluators against slow ones that go frame by frame.

The slow evaluators follow the published toolkits step by step (repair, first frame, absent frames, thresholds, mean).
"""
from __future__ import annotations

import math

import numpy as np
import pytest

from pytracking.analysis import score_sequence, summarise


def random_case(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Truth with invalid boxes, a prediction with empty ones, and visibility."""
    rng = np.random.default_rng(seed)
    frames = int(rng.integers(20, 60))
    truth = np.array([80.0, 60, 40, 30]) + np.cumsum(rng.normal(0, 4, (frames, 4)) * [1, 1, 0.1, 0.1], axis=0)
    truth[:, 2:] = np.maximum(truth[:, 2:], 6)
    prediction = truth + np.cumsum(rng.normal(0, 2, (frames, 4)) * [1, 1, 0.1, 0.1], axis=0)
    prediction[:, 2:] = np.maximum(prediction[:, 2:], 1)
    truth[rng.integers(1, frames, 3), 0] = 0.0
    truth[int(rng.integers(1, frames))] = 0.0
    prediction[rng.integers(1, frames, 4), 2:] = 0.0
    visible = rng.random(frames) > 0.2
    visible[0] = True
    return prediction, truth, visible


def loop_overlap(a: np.ndarray, b: np.ndarray) -> float:
    w = max(0.0, min(a[0] + a[2] - 1, b[0] + b[2] - 1) - max(a[0], b[0]) + 1)
    h = max(0.0, min(a[1] + a[3] - 1, b[1] + b[3] - 1) - max(a[1], b[1]) + 1)
    return w * h / (a[2] * a[3] + b[2] * b[3] - w * h)


def loop_centre(box: np.ndarray) -> tuple[float, float]:
    return box[0] + (box[2] - 1) / 2, box[1] + (box[3] - 1) / 2


def loop_otb_family(prediction, truth, visible, decimals: int | None) -> tuple[list[float], float, float]:
    """Success curve, precision at 20 px and normalised precision at 0.2; ``visible`` is None for OTB."""
    boxes = [np.array(box) for box in prediction]
    for i in range(1, len(boxes)):
        if boxes[i][2] <= 0 or boxes[i][3] <= 0:
            boxes[i] = boxes[i - 1]
    boxes[0] = truth[0]
    overlaps, near, near_normalised = [], 0, 0
    for i, (box, true) in enumerate(zip(boxes, truth, strict=True)):
        if visible is not None and not visible[i]:
            continue
        if not all(value > 0 for value in true):
            overlaps.append(-1.0)
            near, near_normalised = near + 1, near_normalised + 1
            continue
        overlaps.append(loop_overlap(box, true))
        (x, y), (u, v) = loop_centre(box), loop_centre(true)
        error = math.hypot(x - u, y - v)
        near += (round(error, decimals) if decimals else error) <= 20
        near_normalised += math.hypot((x - u) / true[2], (y - v) / true[3]) <= 0.2
    n = len(truth)
    return [sum(o > k * 0.05 for o in overlaps) / n for k in range(21)], near / n, near_normalised / n


@pytest.mark.parametrize("rule", ["lasot", "otb"])
def test_otb_family(rule: str) -> None:
    scores, curves, precisions, normalised = [], [], [], []
    for seed in range(8):
        prediction, truth, visible = random_case(seed)
        seen = visible if rule == "lasot" else None
        scores.append(score_sequence(prediction, truth, rule, visible=seen))
        curve, near, near_normalised = loop_otb_family(prediction, truth, seen, None if rule == "lasot" else 4)
        np.testing.assert_allclose(scores[-1].success, curve, atol=1e-12)
        curves.append(curve)
        precisions.append(near)
        normalised.append(near_normalised)
    summary = summarise(scores, rule)
    assert float(summary.auc) == pytest.approx(np.mean(curves), abs=1e-12)
    assert float(summary.precision) == pytest.approx(np.mean(precisions), abs=1e-12)
    assert float(summary.normalised_precision) == pytest.approx(np.mean(normalised), abs=1e-12)


def test_trackingnet() -> None:
    scores, areas = [], []
    for seed in range(8):
        prediction, truth, _ = random_case(seed)
        truth = np.where(truth == 0, 3.0, truth)  # its annotations have no gaps
        prediction[:, 2:] = np.maximum(prediction[:, 2:], 1)
        scores.append(score_sequence(prediction, truth, "trackingnet"))
        boxes, true = np.round(prediction), np.round(truth)
        boxes[0] = true[0]
        overlaps = [loop_overlap(a, b) for a, b in zip(boxes, true, strict=True)]
        gaps = [np.subtract(loop_centre(a), loop_centre(b)) for a, b in zip(boxes, true, strict=True)]
        errors = [math.hypot(*gap) for gap in gaps]
        relative = [math.hypot(*(gap / b[2:])) for gap, b in zip(gaps, true, strict=True)]
        grid = np.linspace(0, 1, 21)
        areas.append(
            (
                np.trapezoid([np.mean(np.array(overlaps) >= t) for t in grid], grid),
                np.trapezoid([np.mean(np.array(errors) <= t) for t in 50 * grid], grid),
                np.trapezoid([np.mean(np.array(relative) <= t) for t in 0.5 * grid], grid),
            )
        )
    summary = summarise(scores, "trackingnet")
    expected = np.mean(areas, axis=0)
    assert float(summary.auc) == pytest.approx(expected[0], abs=1e-12)
    assert float(summary.precision) == pytest.approx(expected[1], abs=1e-12)
    assert float(summary.normalised_precision) == pytest.approx(expected[2], abs=1e-12)
