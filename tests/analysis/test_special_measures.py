"""OxUvA's and VOT's measures: by hand, by brute force, and against the official toolkit where it is installed."""
from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytracking.analysis import long_term
from pytracking.analysis import reset_measures as vot


def test_presence_by_hand() -> None:
    truth = np.full((91, 4), np.nan)
    truth[[0, 30, 60]] = [10, 10, 20, 20]
    prediction = np.tile([10.0, 10, 20, 20], (91, 1))
    prediction[60] = [200, 200, 20, 20]
    said = np.ones(91, bool)
    said[90] = False
    counts = long_term.presence_counts(prediction, said, truth, [0, 30, 60, 80, 90], [True, True, True, False, False])
    assert counts == long_term.PresenceCounts(found=1, present=2, reported_absent=1, absent=2)
    assert (counts.tpr, counts.tnr, counts.gm) == (0.5, 0.5, 0.5)
    always = long_term.presence_counts(prediction, None, truth, [0, 30, 60, 80, 90], [True, True, True, False, False])
    assert always.tnr == 0.0 and always.gm == 0.0 and always.max_gm == pytest.approx(np.sqrt(0.5) / 2)
    assert long_term.pool([counts, always]).present == 4


def test_oracle_scores_exactly_one() -> None:
    truth = np.full((61, 4), np.nan)
    truth[[0, 30]] = [10, 10, 20, 20]
    prediction = np.where(np.isnan(truth), 1.0, truth)
    said = np.arange(61) < 60
    counts = long_term.presence_counts(prediction, said, truth, [0, 30, 60], [True, True, False], image_size=(100, 80))
    assert counts.tpr == counts.tnr == counts.gm == counts.max_gm == 1.0


@given(st.floats(0, 1), st.floats(0, 1))
def test_max_gm_against_a_search(tpr: float, tnr: float) -> None:
    p = np.linspace(0, 1, 20001)
    best = np.sqrt((1 - p) * tpr * ((1 - p) * tnr + p)).max()
    assert long_term.max_gm(tpr, tnr) == pytest.approx(best, abs=1e-6)


def test_label_beyond_the_prediction_is_named() -> None:
    with pytest.raises(ValueError, match="10 boxes, but frame 31 has a label"):
        long_term.presence_counts(np.ones((10, 4)), None, np.ones((31, 4)), [30], [True])


def states_with_resets(length: int, failed: list[int]) -> np.ndarray:
    states = np.full(length, vot.TRACKED)
    states[0] = vot.INITIALISED
    for frame in failed:
        states[frame] = vot.FAILED
        states[frame + 1 : frame + 5] = vot.SKIPPED
        if frame + 5 < length:
            states[frame + 5] = vot.INITIALISED
    return states


def test_vot_measures_of_a_perfect_run() -> None:
    overlaps, states = np.ones(400), states_with_resets(400, [])
    assert vot.accuracy(overlaps, states) == 1.0 and vot.failures(states) == 0
    curve = vot.eao_curve(vot.fragments(overlaps, states))
    for low, high in vot.EAO_INTERVALS.values():
        assert vot.expected_average_overlap(curve, low, high) == 1.0
    assert vot.reliability(0, 400) == 1.0


def test_reliability_is_the_papers_formula() -> None:
    assert vot.reliability(2.0, 400.0) == pytest.approx(np.exp(-100 * 2 / 400))
    assert -np.log(vot.reliability(1.0, 350.0)) == pytest.approx(100 / 350)


def test_accuracy_leaves_out_burn_in_and_failures() -> None:
    states = states_with_resets(60, [30])
    overlaps = np.where(np.arange(60) < 35, 0.5, 0.8)
    overlaps[states == vot.FAILED] = 0
    # frames 10..29 count with 0.5, frames 45..59 with 0.8
    assert vot.accuracy(overlaps, states) == pytest.approx((20 * 0.5 + 15 * 0.8) / 35)
    accuracy, lost, length = vot.weighted_accuracy_and_failures(
        [[(overlaps, states)], [(np.ones(120), states_with_resets(120, []))]]
    )
    assert accuracy == pytest.approx((60 * vot.accuracy(overlaps, states) + 120) / 180)
    assert lost == pytest.approx(60 / 180) and length == 90


def test_eao_curve_agrees_with_the_toolkit() -> None:
    toolkit = pytest.importorskip("vot.analysis.supervised", reason="pip install vot-toolkit")
    rng = np.random.default_rng(0)
    pieces = []
    for length, failed in ((200, [50, 120]), (90, []), (150, [149]), (310, [20])):
        pieces += vot.fragments(rng.uniform(0, 1, length), states_with_resets(length, failed))
    theirs = toolkit.compute_eao_curve([list(p) for p, _ in pieces], [1.0] * len(pieces), [end for _, end in pieces])
    np.testing.assert_allclose(vot.eao_curve(pieces), theirs, rtol=0, atol=1e-6)  # theirs is float32
