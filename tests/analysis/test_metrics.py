"""Metrics against naive loops and by their properties."""
from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pytracking.analysis import metrics

corner = st.floats(-500, 500)
side = st.floats(0.01, 400)
box = st.tuples(corner, corner, side, side).map(np.array)


@given(box, box)
def test_overlap_is_symmetric_and_bounded(a: np.ndarray, b: np.ndarray) -> None:
    value = float(metrics.overlap(a, b))
    assert value == float(metrics.overlap(b, a))
    assert 0.0 <= value <= 1.0 + 1e-12


@given(box)
def test_equal_boxes_overlap_by_exactly_one(a: np.ndarray) -> None:
    assert float(metrics.overlap(a, a.copy())) == 1.0
    assert float(metrics.centre_error(a, a.copy())) == 0.0


@given(box, box)
def test_overlap_by_pixel_corners_differs_only_by_rounding(a: np.ndarray, b: np.ndarray) -> None:
    plain, pixel = metrics.overlap(a, b), metrics.overlap(a, b, pixel_corners=True)
    assert abs(float(plain) - float(pixel)) < 1e-9


def test_overlap_by_counting_pixels() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        boxes = np.concatenate([rng.integers(0, 12, (2, 2)), rng.integers(1, 12, (2, 2))], axis=1)
        masks = []
        for x, y, w, h in boxes:
            mask = np.zeros((30, 30), bool)
            mask[y : y + h, x : x + w] = True
            masks.append(mask)
        expected = (masks[0] & masks[1]).sum() / (masks[0] | masks[1]).sum()
        assert float(metrics.overlap(*boxes)) == pytest.approx(expected, abs=1e-15)


def test_overlap_of_empty_and_unknown_boxes() -> None:
    boxes = np.array([[1, 1, 0, 0], [1, 1, 0, 5], [np.nan] * 4, [3.0, 3, 2, 2]])
    others = np.array([[1, 1, 0, 0], [1, 1, 4, 4], [1, 1, 4, 4], [50.0, 50, 2, 2]])
    np.testing.assert_array_equal(metrics.overlap(boxes, others), [0, 0, np.nan, 0])


def test_runs_broadcast_against_one_ground_truth() -> None:
    rng = np.random.default_rng(1)
    runs, truth = rng.uniform(1, 50, (3, 7, 4)), rng.uniform(1, 50, (7, 4))
    for function in (metrics.overlap, metrics.centre_error, metrics.normalised_centre_error):
        together = function(runs, truth)
        assert together.shape == (3, 7)
        for run in range(3):
            np.testing.assert_array_equal(together[run], function(runs[run], truth))


def test_centre_errors_by_hand() -> None:
    assert float(metrics.centre_error([0, 0, 11, 11], [3, 4, 11, 11])) == 5.0
    assert float(metrics.normalised_centre_error([0, 0, 10, 20], [3, 8, 10, 20])) == pytest.approx(0.5)


def test_shape_errors_name_the_argument() -> None:
    with pytest.raises(ValueError, match=r"others: expected \[x, y, w, h\]"):
        metrics.overlap([0, 0, 1, 1], [1, 2, 3])


some_overlaps = st.sampled_from([-1, 0, 0.05, 0.5, 0.51, 1, np.nan])
some_errors = st.sampled_from([-1, 0, 1, 19.99, 20, 20.01, 50, np.inf, np.nan])


@given(arrays(np.float64, st.tuples(st.integers(1, 3), st.integers(1, 40)), elements=some_overlaps), st.booleans())
def test_success_curve_against_a_table(overlaps: np.ndarray, inclusive: bool) -> None:
    thresholds = metrics.overlap_thresholds(0.05)
    compare = np.greater_equal if inclusive else np.greater
    with np.errstate(invalid="ignore"):
        expected = compare(overlaps[..., None], thresholds).mean(axis=1)
    got = metrics.success_curve(overlaps, thresholds, inclusive=inclusive)
    np.testing.assert_allclose(got, expected, atol=1e-15)
    assert (np.diff(got, axis=-1) <= 0).all()


@given(arrays(np.float64, st.integers(1, 60), elements=some_errors))
def test_precision_curve_against_a_table(errors: np.ndarray) -> None:
    pixels = np.arange(51.0)
    with np.errstate(invalid="ignore"):
        expected = (errors[:, None] <= pixels).mean(axis=0)
    np.testing.assert_allclose(metrics.precision_curve(errors, pixels), expected, atol=1e-15)


def test_thresholds_and_areas() -> None:
    assert len(metrics.overlap_thresholds(0.01)) == 101
    with pytest.raises(ValueError, match="must divide 1"):
        metrics.overlap_thresholds(0.03)
    with pytest.raises(ValueError, match="not among the 21 thresholds"):
        metrics.value_at(np.zeros(21), metrics.overlap_thresholds(), 0.33)
    assert float(metrics.trapezoid(np.ones(21), np.linspace(0, 50, 21))) == pytest.approx(1.0)
    assert float(metrics.trapezoid([1.0, 0.0], [0.0, 0.5])) == pytest.approx(0.5)
    with pytest.raises(ValueError, match="no frame of the sequence counts"):
        metrics.success_curve(np.zeros(3), metrics.overlap_thresholds(), 0)
