"""P of RLS-DiMP is bounded for sequences of any length, and exact until it is full."""
from __future__ import annotations

import numpy as np
import pytest
import torch

from ltr.models.tracking.dimpnet import DiMPNet
from pytracking.parameter.rls_dimp import block, default, half_precision, long_term, reference
from pytracking.tracker.rls_dimp.params import RLSDimpParams
from pytracking.tracker.rls_dimp.rls_dimp import RLSDimpTracker
from tests.dimp.test_tracker import HARD_NEGATIVE, SMALL, boxes, run

FULL_SIZE = 8192  # length of DiMP-50's filter
MIB = 2**20


def started(params: RLSDimpParams, network: DiMPNet, size: int = FULL_SIZE) -> RLSDimpTracker:
    params.device, params.fallback_weights = "cpu", None
    tracker = RLSDimpTracker(params, network)
    tracker.learner.start(torch.zeros(1, size // 16, 4, 4), torch.Generator())
    return tracker


@pytest.mark.parametrize("settings", [default, long_term])
def test_p_stays_within_its_limit_at_full_size(network: DiMPNet, settings) -> None:
    inverse = started(settings.parameters(), network).learner.inverse
    generator = torch.Generator().manual_seed(0)
    assert 130 <= inverse.max_rank < 150
    for _ in range(inverse.max_rank):
        inverse.update(torch.randn(FULL_SIZE, generator=generator))
    inverse.precondition(torch.ones(FULL_SIZE))
    assert inverse.rank == inverse.max_rank and inverse.error_bound == 0
    for _ in range(40):
        inverse.update(torch.randn(FULL_SIZE, generator=generator))
        inverse.precondition(torch.ones(FULL_SIZE))
        assert inverse.nbytes <= 6.75 * MIB and inverse.rank <= inverse.max_rank
    assert inverse.error_bound > 0


def test_variants_without_a_limit(network: DiMPNet) -> None:
    for settings in (block, reference):
        assert started(settings.parameters(), network).learner.inverse.memory_budget is None
    assert started(half_precision.parameters(), network, 160).learner.inverse.current_form == "dense"


def test_a_distractor_in_every_frame_with_room_for_four_directions(network: DiMPNet, frames: list[np.ndarray]) -> None:
    few = 4 * (128 * 6 + 4 * 20) / MIB
    tracker = RLSDimpTracker(RLSDimpParams(**SMALL, **HARD_NEGATIVE, p_memory_mib=few), network)
    outputs = run(tracker, frames)
    reports = [output["learner"] for output in outputs]
    assert [report["rank"] for report in reports[:4]] == [1, 2, 3, 4]
    assert all(report["error_bound"] < 1e-6 for report in reports[:4])
    assert all(report["nbytes"] <= few * MIB and report["rank"] <= 4 for report in reports)
    bounds = [report["error_bound"] for report in reports]
    assert bounds == sorted(bounds) and 0 < bounds[-1] < 1


def test_the_limit_changes_nothing_while_p_fits(network: DiMPNet, frames: list[np.ndarray]) -> None:
    limited = run(RLSDimpTracker(RLSDimpParams(**SMALL, **HARD_NEGATIVE), network), frames)
    exact = run(RLSDimpTracker(RLSDimpParams(**SMALL, **HARD_NEGATIVE, p_memory_mib=None), network), frames)
    assert limited[-1]["learner"]["rank"] == exact[-1]["learner"]["rank"] == 11
    np.testing.assert_array_equal(boxes(limited), boxes(exact))
