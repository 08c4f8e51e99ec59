"""Frames with a low peak are not learnt from, and their boxes are trusted less."""
from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ltr.models.tracking.dimpnet import DiMPNet
from pytracking.tracker.dimp.confidence import FULL_TRUST, UsualPeak, trust_in_box
from pytracking.tracker.dimp.dimp import DimpTracker
from pytracking.tracker.dimp.params import DimpParams
from tests.dimp.test_tracker import ALWAYS_FOUND, SMALL, boxes, run


def test_the_usual_peak_starts_with_the_first_and_follows_slowly() -> None:
    usual = UsualPeak()
    assert usual.relative(0.1) == 1.0
    usual.update(0.8)
    assert usual.relative(0.4) == 0.5 and usual.relative(7.0) == 1.0 and usual.relative(-1.0) == 0.0
    usual.update(0.9)
    assert usual.value == pytest.approx(0.81)
    usual.update(0.4)
    assert usual.value == pytest.approx(0.8018), "it falls more slowly than it rises"
    for _ in range(400):
        usual.update(0.4)
    assert usual.relative(0.2) == pytest.approx(0.5, abs=1e-3), "a change that lasts becomes usual"


@pytest.mark.parametrize("value", [0.0, -0.5])
def test_peaks_are_not_compared_with_a_usual_one_that_is_not_positive(value: float) -> None:
    usual = UsualPeak()
    usual.update(value)
    assert usual.relative(0.3) == usual.relative(-0.8) == 1.0


def test_after_a_loss_a_peak_must_be_nearly_as_good_as_usual() -> None:
    usual = UsualPeak()
    usual.update(1.0)
    assert not usual.is_low(0.6, 0.5), "enough for a target that was not lost"
    usual.lost = True
    assert usual.is_low(0.6, 0.5) and usual.is_low(FULL_TRUST - 0.01, 0.5) and usual.lost
    assert not usual.is_low(FULL_TRUST, 0.5) and not usual.lost
    assert not usual.is_low(0.6, 0.5), "found again"


def test_what_is_found_after_a_loss_is_not_learnt_from_at_once(network: DiMPNet, frames: list[np.ndarray]) -> None:
    class Leaving(DimpTracker):
        peaks = iter([1.0, 0.0, 0.6, 0.6, 1.0, 0.6])  # frame 3: nothing found; 4 and 5: something else; 6: back

        def score_map(self, features):
            return super().score_map(features) * 0 + next(self.peaks)

    thresholds = ALWAYS_FOUND | {"target_not_found_threshold": 0.1}
    tracker = Leaving(DimpParams(**SMALL, **thresholds, uncertain_part=0.5), network)
    flags = [output["flag"] for output in run(tracker, frames[:7])]
    assert flags == ["normal", "not_found", "uncertain", "uncertain", "normal", "normal"]


@given(st.floats(0, 1), st.floats(0, 1))
def test_trust_in_a_box_grows_with_the_peak(first: float, second: float) -> None:
    low, high = sorted((first, second))
    assert 0 <= trust_in_box(low) <= trust_in_box(high) <= 1 == trust_in_box(FULL_TRUST)


@pytest.fixture
def covered(network: DiMPNet):
    """Makes trackers of a target that is covered after the first tracked frame: all scores fall to a third."""

    class Covered(DimpTracker):
        def score_map(self, features):
            return super().score_map(features) * 0 + (1 if self.usual_peak.value is None else 1 / 3)

    return lambda **params: Covered(DimpParams(**SMALL, **ALWAYS_FOUND, **params), network)


def test_a_peak_far_below_the_usual_one_is_not_learnt_from(covered, frames: list[np.ndarray]) -> None:
    for part, flag, samples in ((0.5, "uncertain", 16), (0.3, "normal", 18), (None, "normal", 18)):
        tracker = covered(uncertain_part=part)
        outputs = run(tracker, frames[:4])
        assert [output["flag"] for output in outputs] == ["normal", flag, flag]
        assert tracker.memory.num_stored == samples


def test_a_low_peak_reduces_the_refinement(covered, frames: list[np.ndarray]) -> None:
    whole, by_peak = (
        boxes(run(covered(update_classifier=False, refinement_by_confidence=wanted), frames[:3]))
        for wanted in (False, True)
    )
    np.testing.assert_array_equal(by_peak[0], whole[0])
    change, trusted = whole[1, 2:] - whole[0, 2:], by_peak[1, 2:] - by_peak[0, 2:]
    assert np.abs(change).max() > 0.1, "the box head must change the box, or this proves nothing"
    np.testing.assert_allclose(trusted, trust_in_box(1 / 3) * change, atol=0.02)
