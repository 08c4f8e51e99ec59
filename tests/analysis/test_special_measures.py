"""OxUvA's measures: by hand and by brute force."""
from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytracking.analysis import long_term


def test_presence_by_hand() -> None:
    truth = np.full((91, 4), np.nan)
    truth[[0, 30, 60]] = [10, 10, 20, 20]
    prediction = np.tile([10.0, 10, 20, 20], (91, 1))
    prediction[60] = [200, 200, 20, 20]
    said = np.ones(91, bool)
    said[90] = False
    counts = long_term.presence_counts(prediction, said, truth, [0, 30, 60, 80, 90], [True, True, True, False, False])
    assert counts == long_term.PresenceCounts(found=1, present=2, reported_absent=1, absent=2)
    assert (counts.tpr, counts.tnr) == (0.5, 0.5)
    always = long_term.presence_counts(prediction, None, truth, [0, 30, 60, 80, 90], [True, True, True, False, False])
    assert always.tnr == 0.0 and always.max_gm == pytest.approx(np.sqrt(0.5) / 2)
    assert long_term.pool([counts, always]).present == 4


def test_oracle_scores_exactly_one() -> None:
    truth = np.full((61, 4), np.nan)
    truth[[0, 30]] = [10, 10, 20, 20]
    prediction = np.where(np.isnan(truth), 1.0, truth)
    said = np.arange(61) < 60
    counts = long_term.presence_counts(prediction, said, truth, [0, 30, 60], [True, True, False], image_size=(100, 80))
    assert counts.tpr == counts.tnr == counts.max_gm == 1.0


@given(st.floats(0, 1), st.floats(0, 1))
def test_max_gm_against_a_search(tpr: float, tnr: float) -> None:
    p = np.linspace(0, 1, 20001)
    best = np.sqrt((1 - p) * tpr * ((1 - p) * tnr + p)).max()
    assert long_term.max_gm(tpr, tnr) == pytest.approx(best, abs=1e-6)


def test_label_beyond_the_prediction_is_named() -> None:
    with pytest.raises(ValueError, match="10 boxes, but frame 31 has a label"):
        long_term.presence_counts(np.ones((10, 4)), None, np.ones((31, 4)), [30], [True])
