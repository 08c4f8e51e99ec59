"""What a low peak changes: such a frame is not learnt from, and its box is trusted less."""
from __future__ import annotations

import numpy as np
import pytest

from ltr.models.tracking.dimpnet import DiMPNet
from pytracking.tracker.dimp.confidence import UsualPeak
from pytracking.tracker.dimp.dimp import DimpTracker
from pytracking.tracker.dimp.params import DimpParams
from tests.dimp.test_tracker import ALWAYS_FOUND, SMALL, boxes, run


def test_the_usual_peak_follows_trusted_peaks_only() -> None:
    usual = UsualPeak()
    assert usual.part(0.5) == 0.5 and usual.part(7.0) == 1.0 and usual.part(-1.0) == 0.0
    for _ in range(100):
        usual.trust(0.4)
    assert usual.part(0.2) == pytest.approx(0.5, abs=1e-3)


@pytest.fixture
def flat(network: DiMPNet):
    """Trackers whose filter gives every patch a third of the score that it gives the target at first."""

    class Covered(DimpTracker):
        def score_map(self, features):
            return super().score_map(features) * 0 + 1 / 3

    return lambda **params: Covered(DimpParams(**SMALL, **ALWAYS_FOUND, **params), network)


def test_a_peak_far_below_the_usual_one_is_not_learnt_from(flat, frames: list[np.ndarray]) -> None:
    for part, flag, samples in ((0.5, "uncertain", 15), (0.3, "normal", 18), (None, "normal", 18)):
        tracker = flat(uncertain_part=part)
        outputs = run(tracker, frames[:4])
        assert [output["flag"] for output in outputs] == [flag] * 3
        assert tracker.memory.num_stored == min(samples, SMALL["sample_memory_size"])


def test_what_is_learnt_from_becomes_the_usual_peak(flat, frames: list[np.ndarray]) -> None:
    tracker = flat(uncertain_part=0.3)
    run(tracker, frames)
    assert tracker.usual_peak.value == pytest.approx(1 / 3 + 2 / 3 * 0.9 ** (len(frames) - 1))


def test_the_box_follows_a_low_peak_less(flat, frames: list[np.ndarray]) -> None:
    whole, third, by_peak = (
        boxes(run(flat(update_classifier=False, **params), frames[:2]))[0]
        for params in ({}, {"refinement_weight": 1 / 3}, {"refinement_by_confidence": True})
    )
    assert np.abs(whole - third).max() > 0.1, "else the box head moves nothing here"
    np.testing.assert_allclose(by_peak, third, rtol=1e-5)
