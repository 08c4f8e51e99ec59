"""Compares the online learners with dense float64 oracles, and with each other in limits where they coincide."""
from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional as F

from ltr.models.target_classifier import ObjectiveMaps, SteepestDescentOptimizer, TargetObjective
from pytracking.tracker.dimp.learner import (
    GradientDescentLearner,
    MovingAverageLearner,
    OnlineLearner,
    SteepestDescentLearner,
)
from pytracking.tracker.rls_dimp.learner import (
    BlockInput,
    ReleasedVirtualInput,
    RLSLearner,
    SampledBlock,
    VirtualInput,
)
from rls_ext import virtual_input_conv

few = settings(max_examples=15, deadline=None)
seeds = st.integers(0, 2**31 - 1)
kernels = st.sampled_from([3, 4])


def random_problem(seed: int, kernel: int = 4, samples: int = 3) -> tuple[TargetObjective, Tensor]:
    """A learning problem in float64 and initial filters."""
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, dtype=torch.float64, generator=generator)

    side = 7 - kernel % 2
    maps = ObjectiveMaps(
        label=normal(1, samples, side, side).abs(),
        mask=torch.sigmoid(normal(1, samples, side, side)),
        spatial_weight=1 + 0.1 * normal(1, samples, side, side),
    )
    weights = normal(1, samples, 1, 1).abs() + 0.05
    features = 0.3 * normal(1, samples, 2, 6, 6)
    problem = TargetObjective(
        features, maps, (weights / weights.sum()).sqrt(), torch.tensor([0.01], dtype=torch.float64)
    )
    return problem, 0.3 * normal(1, 2, kernel, kernel)


def patches(problem: TargetObjective, kernel: int) -> Tensor:
    """All windows that the filter is applied to, (samples, positions, p)."""
    return F.unfold(problem.features[0], kernel, padding=kernel // 2).transpose(1, 2)


def rows_for_p(
    block_input: BlockInput, problem: TargetObjective, filters: Tensor, generator: torch.Generator | None = None
) -> Tensor:
    generator = generator or torch.Generator().manual_seed(0)
    return block_input.rows(problem, problem.scores(filters), filters.shape[-1], generator)


def rls(step_length: float, delta: float, block_input: BlockInput | None = None, **options) -> RLSLearner:
    return RLSLearner(
        step_length, delta=delta, beta=1.0, block_input=block_input or VirtualInput(), dtype=torch.float64, **options
    )


def learn(learner: OnlineLearner, seed: int, kernel: int = 4, updates: int = 4, num_iter: int = 3) -> Tensor:
    """The filters after several updates, each on different samples."""
    _, filters = random_problem(seed, kernel)
    learner.start(filters, torch.Generator().manual_seed(seed))
    for update in range(updates):
        filters = learner.update(random_problem(seed + update, kernel)[0], filters, num_iter)
    return filters


@few
@given(seeds, kernels)
def test_gradient_descent_follows_the_gradient_of_half_the_loss(seed: int, kernel: int) -> None:
    problem, filters = random_problem(seed, kernel)
    variable = filters.clone().requires_grad_(True)
    problem.loss(variable, problem.scores(variable)).sum().backward()
    learner = GradientDescentLearner(0.1)
    found = learner.update(problem, filters, 1)
    torch.testing.assert_close(found, filters - 0.1 * variable.grad / 2)


@few
@given(seeds, kernels)
def test_virtual_input_is_the_weighted_sum_over_all_positions(seed: int, kernel: int) -> None:
    problem, filters = random_problem(seed, kernel)
    found = rows_for_p(VirtualInput(), problem, filters)
    windows = patches(problem, kernel)
    roots = problem.weight.expand(1, len(windows), -1, -1)[0].flatten(1)  # sqrt(gamma_jk) = v_jk
    expected = (roots[..., None] * windows).sum((0, 1)) / (windows.shape[0] * windows.shape[1]) ** 0.5
    torch.testing.assert_close(found, expected)
    weights = problem.weight.expand_as(problem.scores(filters))[0]
    torch.testing.assert_close(found, virtual_input_conv(problem.features[0], kernel, weights, rooted=True))


@few
@given(seeds)
def test_released_virtual_input_skips_positions_and_empty_samples(seed: int) -> None:
    problem, filters = random_problem(seed, 4)
    problem.root_sample_weight[0, 1] = 0
    scores = problem.scores(filters)
    found = rows_for_p(ReleasedVirtualInput(), problem, filters)
    side = scores.shape[-1]
    windows = patches(problem, 4).unflatten(1, (side, side))[:, ::2, ::2]
    weights = (problem.derivative(scores) * problem.weight)[0, :, ::2, ::2]
    used, positions = 2, windows.shape[1] * windows.shape[2]
    torch.testing.assert_close(found, (weights[..., None] * windows).sum((0, 1, 2)) / (used * positions) ** 0.5)


@few
@given(seeds, kernels, st.floats(0.05, 5))
def test_rls_is_gradient_descent_with_the_inverse_correlation(seed: int, kernel: int, delta: float) -> None:
    learner = rls(0.05, delta)
    _, filters = random_problem(seed, kernel)
    learner.start(filters, torch.Generator())
    correlation = delta * torch.eye(filters.numel(), dtype=torch.float64)
    expected = filters
    for update in range(4):
        problem = random_problem(seed + update, kernel)[0]
        x = rows_for_p(VirtualInput(), problem, expected)
        correlation += torch.outer(x, x)
        inverse = torch.linalg.inv(correlation)
        filters = learner.update(problem, filters, 2)
        for _ in range(2):
            gradient = problem.gradient(expected, problem.scores(expected))
            expected = expected - 0.05 * (gradient.flatten() @ inverse).view_as(expected)
        torch.testing.assert_close(filters, expected, rtol=1e-9, atol=1e-9)


@few
@given(seeds, kernels)
def test_rls_becomes_gradient_descent_as_delta_grows(seed: int, kernel: int) -> None:
    step = 0.05
    plain = learn(GradientDescentLearner(step), seed, kernel)
    gaps = []
    for delta in (1e2, 1e4, 1e6):
        gaps.append(float((learn(rls(step * delta, delta), seed, kernel) - plain).norm() / plain.norm()))
    assert gaps[2] < 1e-4
    assert gaps[2] <= gaps[0] / 1e3  # the gap falls like 1 / delta


@few
@given(seeds, st.sampled_from(["sd", "bgd", "rls"]))
def test_moving_average_of_one_is_the_learner_itself(seed: int, kind: str) -> None:
    def make() -> OnlineLearner:
        if kind == "sd":
            return SteepestDescentLearner(SteepestDescentOptimizer().double().requires_grad_(False))
        return GradientDescentLearner(0.05) if kind == "bgd" else rls(0.05, 0.1)

    assert torch.equal(learn(MovingAverageLearner(make(), 1.0), seed), learn(make(), seed))


@few
@given(seeds, st.floats(0, 1))
def test_moving_average_lies_between_old_and_new_filters(seed: int, alpha: float) -> None:
    problem, filters = random_problem(seed)
    new = GradientDescentLearner(0.1).update(problem, filters, 3)
    found = MovingAverageLearner(GradientDescentLearner(0.1), alpha).update(problem, filters, 3)
    torch.testing.assert_close(found, (1 - alpha) * filters + alpha * new)


def test_steepest_descent_learner_is_the_networks_optimizer() -> None:
    optimizer = SteepestDescentOptimizer().double().requires_grad_(False)
    features = torch.randn(3, 2, 6, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    boxes = torch.tensor([[30.0, 30, 20, 20]] * 3, dtype=torch.float64)
    filters = torch.full((1, 2, 4, 4), 0.1, dtype=torch.float64)
    weights = torch.tensor([0.5, 0.3, 0.2], dtype=torch.float64)
    expected = optimizer(filters, features[None], boxes[None], weights, num_iter=3)
    found = SteepestDescentLearner(optimizer).update(optimizer.objective(features, boxes, 4, weights), filters, 3)
    torch.testing.assert_close(found, expected)


def test_rls_resets_p_after_reset_every_updates() -> None:
    learner = rls(0.05, 0.1, reset_every=2)
    learn(learner, 3, updates=1)
    assert learner.report()["rank"] == 1
    learn(learner, 3, updates=2)
    assert learner.report()["rank"] == 0


def test_rls_forgets_the_last_sequence() -> None:
    learner = rls(0.05, 0.1)
    first = learn(learner, 3)
    learn(learner, 4)
    assert torch.equal(learn(learner, 3), first)


def test_sampled_block_holds_windows_of_the_samples_with_one_common_weight() -> None:
    problem, filters = random_problem(8)
    scores = problem.scores(filters)
    rows = rows_for_p(SampledBlock(20), problem, filters)
    weight = (problem.weight.expand_as(scores).square().sum() / 20).sqrt()
    windows = patches(problem, 4).flatten(0, 1)
    distances = torch.cdist(rows / weight, windows, compute_mode="donot_use_mm_for_euclid_dist")
    assert rows.shape == (20, filters.numel())
    assert float(distances.min(dim=1).values.max()) < 1e-9


def test_sampled_block_adds_the_exact_correlation_in_expectation() -> None:
    problem, filters = random_problem(8)
    scores = problem.scores(filters)
    generator = torch.Generator().manual_seed(0)
    draws, repetitions = 50, 400
    blocks = [rows_for_p(SampledBlock(draws), problem, filters, generator) for _ in range(repetitions)]
    mean = sum(rows.T @ rows for rows in blocks) / repetitions
    windows = patches(problem, 4).flatten(0, 1)
    gamma = problem.weight.expand_as(scores).square().flatten()
    exact = windows.T @ (gamma[:, None] * windows)
    fourth_moment = gamma.sum() * (gamma * windows.square().sum(1).square()).sum()
    deviation = float(((fourth_moment - exact.square().sum()) / (draws * repetitions)).sqrt())
    assert deviation < 0.05 * float(exact.norm())  # precise enough to detect a wrong scale
    assert float((mean - exact).norm()) < 2 * deviation


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: GradientDescentLearner(0.0), "step_length"),
        (lambda: MovingAverageLearner(GradientDescentLearner(0.1), 1.5), "ema_alpha"),
        (lambda: rls(0.1, 0.1, reset_every=0), "reset_every"),
        (lambda: SampledBlock(0), "block_rows"),
    ],
)
def test_learners_name_a_bad_argument(make, name: str) -> None:
    with pytest.raises(ValueError, match=name):
        make()
