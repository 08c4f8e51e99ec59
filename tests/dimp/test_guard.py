"""Updates that would destroy the filter are rejected for every learner; healthy ones pass unchanged."""
from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
import torch

from ltr.models.target_classifier import SteepestDescentOptimizer, TargetObjective
from ltr.models.tracking.dimpnet import DiMPNet
from pytracking.tracker.base import RejectedUpdateWarning
from pytracking.tracker.dimp.dimp import DimpTracker
from pytracking.tracker.dimp.guard import LOSS_LIMIT, UpdateGuard, find_fault
from pytracking.tracker.dimp.learner import SteepestDescentLearner
from pytracking.tracker.dimp.params import DimpParams
from pytracking.tracker.rls_dimp.params import RLSDimpParams
from pytracking.tracker.rls_dimp.rls_dimp import RLSDimpTracker
from tests.dimp.test_learners import random_problem, rls
from tests.dimp.test_tracker import ALWAYS_FOUND, SMALL, boxes, run

COMMON = {**SMALL, **ALWAYS_FOUND, "net_opt_update_iter": 5}


def make(network: DiMPNet, kind: str, step_length: float) -> DimpTracker:
    if kind == "rls":
        return RLSDimpTracker(RLSDimpParams(**COMMON, step_length=step_length), network)
    alpha = 0.5 if kind == "ema" else 1.0
    params = DimpParams(**COMMON, learner="gradient_descent", step_length=step_length, ema_alpha=alpha)
    return DimpTracker(params, network)


@pytest.mark.parametrize("kind", ["bgd", "ema", "rls"])
@pytest.mark.parametrize("step_length", [1e3, 1e30], ids=["explodes", "overflows"])
def test_too_large_step_lengths_do_not_change_the_filter(
    network: DiMPNet, frames: list[np.ndarray], kind: str, step_length: float
) -> None:
    tracker = make(network, kind, step_length)
    tracker.initialize(frames[0], {"init_bbox": [40, 30, 24, 20]})
    first = tracker.filters.clone()
    with pytest.warns(RejectedUpdateWarning, match=re.escape(f"step_length={step_length:g} ")) as caught:
        outputs = [tracker.track(frame) for frame in frames[1:]]
    assert len([each for each in caught if each.category is RejectedUpdateWarning]) == 1
    assert torch.equal(tracker.filters, first)
    assert np.isfinite(boxes(outputs)).all() and np.isfinite([output["score"] for output in outputs]).all()
    assert outputs[-1]["learner"]["rejected"] == 3
    assert [output["learner"]["rejected"] for output in outputs[:2]] == [0, 0]
    if kind == "rls":  # P depends on the inputs only, so it continues to learn
        assert tracker.learner.inverse.steps == outputs[-1]["learner"]["rank"] == 3
        assert torch.isfinite(tracker.learner.inverse.precondition(first.flatten())).all()


def test_the_next_sequence_starts_without_rejections(network: DiMPNet, frames: list[np.ndarray]) -> None:
    tracker = make(network, "bgd", 1e30)
    for _ in range(2):
        with pytest.warns(RejectedUpdateWarning):
            assert run(tracker, frames)[-1]["learner"]["rejected"] == 3


@pytest.mark.parametrize("kind", ["bgd", "ema", "rls"])
def test_healthy_updates_are_not_touched(network: DiMPNet, frames: list[np.ndarray], kind: str) -> None:
    tracker, unguarded = make(network, kind, 3e-2), make(network, kind, 3e-2)
    unguarded.guard.choose = lambda problem, before, after: after
    with warnings.catch_warnings():
        warnings.simplefilter("error", RejectedUpdateWarning)
        outputs = run(tracker, frames)
    np.testing.assert_array_equal(boxes(outputs), boxes(run(unguarded, frames)))
    assert torch.equal(tracker.filters, unguarded.filters) and outputs[-1]["learner"]["rejected"] == 0


def test_steepest_descent_on_broken_features_is_rejected() -> None:
    problem, filters = random_problem(3)
    broken = TargetObjective(problem.features * torch.nan, problem.maps, problem.root_sample_weight, torch.ones(1))
    learner = SteepestDescentLearner(SteepestDescentOptimizer().double().requires_grad_(False))
    after = learner.update(broken, filters, 2)
    assert not torch.isfinite(after).any()
    with pytest.warns(RejectedUpdateWarning, match="not a number"):
        assert UpdateGuard("").choose(broken, filters, after) is filters


def test_inputs_that_are_not_finite_do_not_change_p() -> None:
    problem, filters = random_problem(3)
    broken = TargetObjective(problem.features * torch.nan, problem.maps, problem.root_sample_weight, torch.ones(1))
    learner = rls(0.05, 0.1)
    learner.start(filters, torch.Generator())
    learner.update(problem, filters, 2)
    before = learner.inverse.dense()
    assert not torch.isfinite(learner.update(broken, filters, 2)).any()
    assert torch.equal(learner.inverse.dense(), before) and learner.inverse.steps == 1


def test_p_is_reset_when_forgetting_overflows() -> None:
    problem, filters = random_problem(3)
    learner = rls(0.05, 0.1)
    learner.p_options |= {"beta": 0.5, "dtype": torch.float32}
    learner.start(filters.float(), torch.Generator())
    scores = problem.scores(filters)
    with pytest.warns(RuntimeWarning, match="was reset"):
        for _ in range(200):
            learner.observe(problem, scores, filters.shape[-1])
    assert 1 <= learner.inverse.steps < 200 and torch.isfinite(learner.inverse.dense()).all()


@pytest.mark.parametrize("weighted", [True, False])
def test_faults_of_a_filter(weighted: bool) -> None:
    problem, filters = random_problem(1, samples=6)
    if not weighted:
        one = torch.full((1, 1, 1, 1), 0.4, dtype=torch.float64)
        problem = TargetObjective(problem.features, problem.maps, one, problem.regularisation)
    assert find_fault(problem, filters) is None
    assert find_fault(problem, torch.zeros_like(filters)) is None  # a zero filter is allowed
    assert "times" in find_fault(problem, filters * 100 * LOSS_LIMIT)
    for bad in (torch.nan, torch.inf):
        broken = filters.clone()
        broken[0, 1, 0, 0] = bad
        assert "not a number" in find_fault(problem, broken)


def test_filters_that_overflow_where_the_features_are_zero_are_faulty() -> None:
    problem, filters = random_problem(1)
    features = problem.features.clone()
    features[:, :, 1] = 0
    silent = TargetObjective(features, problem.maps, problem.root_sample_weight, problem.regularisation)
    filters[0, 1] = 1e300
    assert "not a number" in find_fault(silent, filters)
