"""Compares the exact learner with dense float64 least squares; checks which samples it uses."""
from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
import torch
from hypothesis import given
from torch import Tensor

from ltr.models.target_classifier import TargetObjective
from ltr.models.tracking.dimpnet import DiMPNet
from pytracking.tracker.dimp.learner import MovingAverageLearner
from pytracking.tracker.rls_dimp.exact_learner import ExactLearner, quadratic_model
from pytracking.tracker.rls_dimp.params import RLSDimpParams
from pytracking.tracker.rls_dimp.rls_dimp import RLSDimpTracker
from tests.dimp.test_learners import few, kernels, patches, random_problem, seeds
from tests.dimp.test_parameters import load
from tests.dimp.test_tracker import ALWAYS_FOUND, HARD_NEGATIVE, SMALL, boxes, run


def exact(**options) -> ExactLearner:
    return ExactLearner(**{"beta": 1.0, "first_part": 0.25, "iterations": 3, "most_samples": 1} | options)


def started(filters: Tensor, **options) -> ExactLearner:
    learner = exact(**options)
    learner.start(filters, torch.Generator())
    return learner


def equations(problem: TargetObjective, filters: Tensor, samples: list[int], weights: list[float]) -> tuple:
    """Weighted sums of d^2 x x^T and d^2 t x over all positions of some samples, position by position."""
    scores, kernel = problem.scores(filters), filters.shape[-1]
    spatial, windows = problem.maps.spatial_weight, patches(problem, kernel)
    slope, excess = problem.derivative(scores), problem.activation(scores) - problem.label
    matrix, target = 0.0, 0.0
    for sample, weight in zip(samples, weights, strict=True):
        d2 = (spatial * slope)[0, sample].flatten().square()
        t = (scores - excess / slope)[0, sample].flatten()
        matrix = matrix + weight * torch.einsum("k,ki,kj->ij", d2, windows[sample], windows[sample])
        target = target + weight * torch.einsum("k,ki->i", d2 * t, windows[sample])
    return matrix, target


@few
@given(seeds, kernels)
def test_model_of_a_sample_is_the_loss_linearised_at_the_filter(seed: int, kernel: int) -> None:
    """Its gradient at the filter is the loss's, its matrix is sum d^2 x x^T, both without the weight in the memory."""
    problem, filters = random_problem(seed, kernel)
    scores = problem.scores(filters)
    for index in range(3):
        sample = problem.sample(index)
        rows, moment = quadratic_model(sample, scores[:, index : index + 1], kernel)
        matrix, target = equations(problem, filters, [index], [1.0])
        torch.testing.assert_close(rows.T @ rows, matrix)
        torch.testing.assert_close(moment[0], target)
        gradient = sample.gradient(filters, scores[:, index : index + 1]) - sample.regularisation * filters
        found = (rows.T @ (rows @ filters.flatten()) - moment[0]).view_as(filters)
        torch.testing.assert_close(found * sample.sample_weights, gradient)


def test_positions_with_zero_derivative_are_omitted() -> None:
    problem, filters = random_problem(0)
    problem.maps.mask.zero_()  # act = max(s, 0)
    sample = problem.sample(1)
    scores = sample.scores(filters)
    rows, moment = quadratic_model(sample, scores, 4)
    assert 0 < len(rows) == int((scores > 0).sum()) < scores.numel()
    assert torch.isfinite(moment).all()


@few
@given(seeds, kernels)
def test_solves_the_weighted_means_of_both_sets(seed: int, kernel: int) -> None:
    """Seven updates with one new sample each; every sample is linearised at the filter of its own update."""
    problem, filters = random_problem(seed, kernel, samples=6)
    learner = started(filters, iterations=400, first_part=0.5)
    learner.notice(2)
    first, z_first = equations(problem, filters, [0, 1, 3, 4, 5], [0.2] * 5)
    total, z_total = equations(problem, filters, [2], [1.0])
    lam = problem.regularisation * torch.eye(len(z_first), dtype=torch.float64)
    found = learner.update(problem, filters, 5)
    part = 5 / 6
    truth = torch.linalg.solve(part * first + (1 - part) * total + lam, part * z_first + (1 - part) * z_total)
    torch.testing.assert_close(found.flatten(), truth, rtol=1e-6, atol=1e-8)
    for step, index in enumerate((4, 0, 5, 3, 1, 2), start=2):
        learner.notice(index)
        more, z_more = equations(problem, found, [index], [1.0])
        total, z_total = total + more, z_total + z_more
        found = learner.update(problem, found, 1)
        part = max(5 / (5 + step), 0.5)
        matrix = part * first + (1 - part) / step * total + lam
        truth = torch.linalg.solve(matrix, part * z_first + (1 - part) / step * z_total)
        torch.testing.assert_close(found.flatten(), truth, rtol=1e-6, atol=1e-8)
    assert learner.later.steps == 7 and learner.first.steps == 5


def test_each_sample_counts_once_and_the_newest_come_first() -> None:
    problem, filters = random_problem(3, samples=6)
    learner = started(filters, most_samples=2)
    for index in (3, 4, 5, 3):  # the sample at index 3 was replaced
        learner.notice(index)
    learner.update(problem, filters, 1)
    matrix, _ = equations(problem, filters, [5, 3], [1.0, 1.0])
    torch.testing.assert_close(learner.later.dense(), matrix)
    torch.testing.assert_close(learner.first.dense(), equations(problem, filters, [0, 1, 2], [1.0] * 3)[0])
    learner.update(problem, filters, 1)
    torch.testing.assert_close(learner.later.dense(), matrix)


def test_forgetting_affects_later_samples_only() -> None:
    problem, filters = random_problem(4, samples=5)
    learner = started(filters, beta=0.5)
    learner.notice(3)
    learner.update(problem, filters, 1)
    learner.notice(4)
    learner.update(problem, filters, 1)
    torch.testing.assert_close(learner.later.dense(), equations(problem, filters, [3, 4], [0.5, 1.0])[0])
    assert learner.later.weight == 1.5 and learner.first.weight == 4  # index 4 held a sample of the first frame


def test_the_loss_falls_and_a_second_look_does_not_hurt() -> None:
    problem, filters = random_problem(5, samples=4)
    learner = started(filters)
    found = learner.update(problem, filters, 5)
    before, after = (problem.loss(each, problem.scores(each)) for each in (filters, found))
    assert float(after) < 0.9 * float(before) and learner.report()["loss"] == float(before)
    assert learner.report()["nbytes"] == 2 * 8 * (32 * 32 + 32)


def test_a_sample_that_is_not_finite_is_ignored() -> None:
    problem, filters = random_problem(6, samples=4)
    learner = started(filters)
    learner.notice(3)
    problem.features[0, 3, 0, 0, 0] = torch.nan
    assert torch.isfinite(learner.update(problem, filters, 1)).all()
    assert learner.later.steps == 0 and learner.first.steps == 3


@pytest.mark.parametrize(("name", "value"), [("first_part", 1.5), ("iterations", 0), ("most_samples", 0)])
def test_invalid_settings_are_refused(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=name.replace("most", "exact")):
        exact(**{name: value})


@pytest.mark.parametrize("name", ("", "_long_term", "_vot18", "_vot19"))
def test_parameter_files_differ_only_in_the_learner(name: str) -> None:
    one, other = load(f"rls_dimp.exact{name}"), load(f"rls_dimp.{name[1:] or 'default'}")
    own = ("learner", "provenance")
    for each in fields(other):
        assert each.name in own or getattr(one, each.name) == getattr(other, each.name), each.name
    assert set(one.provenance) == {*other.provenance, "learner"}
    assert (one.learner, other.learner, one.exact_iterations) == ("exact", "rls", 3)


@pytest.mark.parametrize("situation", (ALWAYS_FOUND, HARD_NEGATIVE))
def test_in_the_tracker(network: DiMPNet, frames: list[np.ndarray], situation: dict) -> None:
    tracker = RLSDimpTracker(RLSDimpParams(**SMALL, **situation, learner="exact"), network)
    outputs = run(tracker, frames)
    updates = sum(output["learner"]["updated"] for output in outputs)
    assert tracker.learner.later.steps == updates > 0
    assert tracker.learner.first.steps == tracker.memory.num_init
    assert outputs[-1]["learner"]["rejected"] == 0 and np.isfinite(boxes(outputs)).all()
    np.testing.assert_array_equal(boxes(run(tracker, frames)), boxes(outputs))


def test_a_moving_average_forwards_new_samples(network: DiMPNet) -> None:
    tracker = RLSDimpTracker(RLSDimpParams(**SMALL, learner="exact", ema_alpha=0.5), network)
    assert isinstance(tracker.learner, MovingAverageLearner)
    problem, filters = random_problem(7)
    tracker.learner.start(filters, torch.Generator())
    tracker.learner.notice(2)
    tracker.learner.update(problem, filters, 1)
    assert tracker.learner.learner.later.steps == 1


def test_the_ridge_is_the_larger_of_the_parameter_s_and_the_network_s() -> None:
    problem, filters = random_problem(8, samples=4)
    assert 0 < float(problem.regularisation) < 0.5
    for ridge in (1e-9, 0.5):
        found = started(filters, iterations=400, ridge=ridge).update(problem, filters, 1)
        matrix, target = equations(problem, filters, [0, 1, 2, 3], [0.25] * 4)
        lam = max(ridge, float(problem.regularisation)) * torch.eye(len(target), dtype=torch.float64)
        torch.testing.assert_close(found.flatten(), torch.linalg.solve(matrix + lam, target), rtol=1e-6, atol=1e-8)


def test_sketches_if_dense_equations_do_not_fit() -> None:
    problem, filters = random_problem(9, samples=6)
    whole, room = started(filters), 32 * 32 * 8
    assert started(filters, form="auto", memory_budget=room).first.form == "dense"
    learner = started(filters, form="auto", memory_budget=room - 1, iterations=200)
    assert learner.first.form == learner.later.form == "sketched"
    assert started(filters, form="dense", memory_budget=1).first.form == "dense"
    for index in (3, 4, 5):
        for each in (learner, whole):
            each.notice(index)
            each.update(problem, filters, 1)
    for mine, exact_one in ((learner.first, whole.first), (learner.later, whole.later)):
        gap = torch.linalg.matrix_norm(mine.dense() - exact_one.dense(), 2)
        assert 0 < float(gap) <= mine.error_bound * (1 + 1e-9)
    first, later = learner.first, learner.later
    part = max(0.25, first.weight / (first.weight + later.weight))
    bound = part * first.error_bound / first.weight + (1 - part) * later.error_bound / later.weight
    assert learner.report()["error_bound"] == pytest.approx(bound)
