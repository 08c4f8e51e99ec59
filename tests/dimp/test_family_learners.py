"""RLS on the losses of PrDiMP and ATOM against dense float64 oracles; the losses' own derivatives against autograd."""
from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional as F

from ltr.models.target_classifier import DensityObjective, FilterObjective, HingeOptimizer
from pytracking.tracker.atom.learner import ConjugateGradientLearner
from pytracking.tracker.atom.objective import AtomObjective, JointObjective
from pytracking.tracker.dimp.guard import LOSS_LIMIT, find_fault
from pytracking.tracker.dimp.learner import GradientDescentLearner, OnlineLearner
from pytracking.tracker.rls_dimp.exact_learner import ExactLearner, quadratic_model
from pytracking.tracker.rls_dimp.learner import RLSLearner, SampledBlock, VirtualInput

few = settings(max_examples=8, deadline=None)
seeds = st.integers(0, 2**31 - 1)
kernels = st.sampled_from([3, 4])
losses = pytest.mark.parametrize("loss", ["density", "density_extra", "hinge", "atom"])


def make_problem(loss: str, seed: int, kernel: int = 4, samples: int = 3) -> tuple[FilterObjective, Tensor]:
    """A learning problem in float64 and initial filters."""
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, dtype=torch.float64, generator=generator)

    features, filters = 0.5 * normal(1, samples, 2, 6, 6), 0.5 * normal(1, 2, kernel, kernel)
    weights = normal(1, samples, 1, 1).abs() + 0.05
    weights, reg = weights / weights.sum(), torch.tensor([0.02], dtype=torch.float64)
    if loss == "atom":
        label = normal(1, samples, 6, 6).abs()
        return AtomObjective(features, label, weights.sqrt(), reg, 0.3), filters
    side = 7 - kernel % 2
    if loss == "hinge":
        boxes = torch.tensor([[[30.0, 25, 40, 30]]], dtype=torch.float64).expand(1, samples, 4)
        return HingeOptimizer().double().requires_grad_(False).objective(features, boxes, kernel, weights), filters
    label = torch.softmax(normal(1, samples, side * side), -1).view(1, samples, side, side)
    return DensityObjective(features, label, weights, reg, 1.5 if loss == "density_extra" else None), filters


def windows(problem: FilterObjective, filters: Tensor) -> Tensor:
    """The linear map from filter to scores, (scores, p)."""
    eye = torch.eye(filters.numel(), dtype=filters.dtype).view(-1, *filters.shape)
    return torch.stack([problem.scores(unit).flatten() for unit in eye], 1)


def dense_curvature(problem: FilterObjective, filters: Tensor) -> Tensor:
    """Curvature matrix by autograd: Gauss-Newton's for half a sum of squares, Newton's for the divergence."""
    rows, scores = windows(problem, filters), problem.scores(filters)
    if isinstance(problem, DensityObjective):
        hessian = torch.autograd.functional.hessian(
            lambda flat: problem.data_loss(flat.view_as(scores)).sum(), scores.flatten()
        )
    else:
        slope = torch.autograd.functional.jacobian(lambda s: problem.residual(s).sum((0, 1, 2, 3)), scores).flatten()
        hessian = torch.diag(slope.square())
    return rows.T @ hessian @ rows + problem.regularisation * torch.eye(filters.numel(), dtype=filters.dtype)


@losses
@few
@given(seed=seeds, kernel=kernels)
def test_gradient_and_curvature(loss: str, seed: int, kernel: int) -> None:
    problem, filters = make_problem(loss, seed, kernel)
    scores = problem.scores(filters)
    variable = scores.clone().requires_grad_(True)
    problem.data_loss(variable).sum().backward()
    factor = 1 if isinstance(problem, DensityObjective) else 0.5  # squares: of half the loss
    torch.testing.assert_close(problem.score_gradient(scores), factor * variable.grad)
    pulled = windows(problem, filters).T @ (factor * variable.grad).flatten()
    expected = pulled + problem.regularisation * filters.flatten()
    torch.testing.assert_close(problem.gradient(filters, scores).flatten(), expected)
    matrix, direction = dense_curvature(problem, filters), make_problem(loss, seed + 1, kernel)[1]
    torch.testing.assert_close(problem.curvature_product(direction, scores).flatten(), matrix @ direction.flatten())
    along = direction.flatten() @ matrix @ direction.flatten()
    torch.testing.assert_close(problem.curvature(direction, scores)[0], along)


@losses
def test_loss_of_a_selection_is_the_sum_over_its_samples(loss: str) -> None:
    problem, filters = make_problem(loss, 0)
    chosen = problem.samples(torch.tensor([2, 0]))
    scores = chosen.scores(filters)
    alone = [problem.sample(index) for index in (2, 0)]
    torch.testing.assert_close(scores, torch.cat([one.scores(filters) for one in alone], 1))
    torch.testing.assert_close(chosen.data_loss(scores), sum(one.data_loss(one.scores(filters)) for one in alone))


@pytest.mark.parametrize("loss", ["density", "density_extra"])
@few
@given(seed=seeds, kernel=kernels)
def test_linearised_residuals_of_the_density(loss: str, seed: int, kernel: int) -> None:
    """The virtual input sums the rows of a factor A^T X of the curvature X^T A A^T X; here A is built as a matrix."""
    problem, filters = make_problem(loss, seed, kernel)
    scores = problem.scores(filters)
    total, curvature = 0, []
    for index in range(scores.shape[1]):
        p = problem.probabilities(scores)[0, index].flatten()
        root, rho = p.sqrt(), p.sum()
        share = (1 - (1 - rho).clamp(min=0).sqrt()) / rho
        factor = torch.diag(root) @ (torch.eye(len(p), dtype=p.dtype) - share * torch.outer(root, root))
        curvature.append(problem.sample_weight[0, index] * factor @ factor.T)
        part = problem.sample(index)
        total = total + problem.sample_weight[0, index, 0, 0].sqrt() * (windows(part, filters).T @ factor).sum(1)
    hessian = torch.block_diag(*curvature)
    matrix = windows(problem, filters).T @ hessian @ windows(problem, filters)
    regularised = matrix + problem.regularisation * torch.eye(len(matrix), dtype=matrix.dtype)
    torch.testing.assert_close(regularised, dense_curvature(problem, filters), atol=1e-7, rtol=1e-6)
    found = VirtualInput().rows(problem, scores, filters.shape[-1], torch.Generator())
    torch.testing.assert_close(found, total / scores.numel() ** 0.5, atol=1e-7, rtol=1e-6)


def rls(step_length: float, delta: float) -> RLSLearner:
    return RLSLearner(step_length, delta=delta, beta=1.0, block_input=VirtualInput(), dtype=torch.float64)


@losses
@few
@given(seed=seeds, kernel=kernels)
def test_rls_is_gradient_descent_with_the_inverse_correlation(loss: str, seed: int, kernel: int) -> None:
    learner, filters = rls(0.05, 0.3), make_problem(loss, seed, kernel)[1]
    learner.start(filters, torch.Generator())
    correlation, expected = 0.3 * torch.eye(filters.numel(), dtype=torch.float64), filters
    for update in range(3):
        problem = make_problem(loss, seed + update, kernel)[0]
        scores = problem.scores(expected)
        x = windows(problem, filters).T @ problem.input_weights(scores).flatten() / scores.numel() ** 0.5
        correlation += torch.outer(x, x)
        filters = learner.update(problem, filters, 2)
        for _ in range(2):
            gradient = problem.gradient(expected, problem.scores(expected)).flatten()
            expected = expected - 0.05 * torch.linalg.solve(correlation, gradient).view_as(expected)
        torch.testing.assert_close(filters, expected, rtol=1e-9, atol=1e-9)


def learn(learner: OnlineLearner, loss: str, seed: int) -> Tensor:
    filters = make_problem(loss, seed)[1]
    learner.start(filters, torch.Generator())
    for update in range(3):
        filters = learner.update(make_problem(loss, seed + update)[0], filters, 3)
    return filters


@losses
@few
@given(seed=seeds)
def test_rls_becomes_gradient_descent_as_delta_grows(loss: str, seed: int) -> None:
    plain = learn(GradientDescentLearner(0.05), loss, seed)
    gaps = [float((learn(rls(0.05 * delta, delta), loss, seed) - plain).norm()) for delta in (1e2, 1e4, 1e6)]
    assert gaps[2] < 1e-4 * float(plain.norm())
    assert gaps[2] <= gaps[0] / 1e3  # the gap falls like 1 / delta


@few
@given(seed=seeds, kernel=kernels)
def test_conjugate_gradients_solve_the_linearised_problem(seed: int, kernel: int) -> None:
    problem, filters = make_problem("atom", seed, kernel)
    scores = problem.scores(filters)
    move = torch.linalg.solve(dense_curvature(problem, filters), problem.gradient(filters, scores).flatten())
    for fletcher_reeves in (False, True):
        learner = ConjugateGradientLearner(fletcher_reeves=fletcher_reeves)
        learner.start(filters, torch.Generator())
        found = learner.update(problem, filters, filters.numel() + 10)
        torch.testing.assert_close(found, filters - move.view_as(filters), rtol=1e-6, atol=1e-8)


@few
@given(seed=seeds, kernel=kernels)
def test_joint_model_has_the_gradient_of_half_the_loss(seed: int, kernel: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    features, label, filters, projection = (
        torch.randn(shape, dtype=torch.float64, generator=generator, requires_grad=True)
        for shape in ((3, 5, 6, 6), (3, 6, 6), (1, 2, kernel, kernel), (2, 5))
    )
    joint = JointObjective(features, label, torch.full((3,), 1 / 3, dtype=torch.float64), 0.1, 0.01, 0.3)
    expected = torch.autograd.grad(joint.loss(filters, projection).sum() / 2, (filters, projection))
    model = joint.linearise(filters, projection)
    torch.testing.assert_close(model.gradient(), torch.cat([part.flatten() for part in expected]))
    count = filters.numel() + projection.numel()
    matrix = torch.stack([model.product(unit) for unit in torch.eye(count, dtype=torch.float64)])
    torch.testing.assert_close(matrix, matrix.T)
    assert float(torch.linalg.eigvalsh(matrix.detach()).min()) > 0.009  # never below the regularisation


@losses
def test_exploded_filters_are_detected(loss: str) -> None:
    problem, filters = make_problem(loss, 3)
    assert find_fault(problem, 0.1 * filters) is None
    assert find_fault(problem, torch.zeros_like(filters)) is None
    assert "times" in find_fault(problem, filters * 1e4 * LOSS_LIMIT)
    assert "not a number" in find_fault(problem, filters * torch.nan)


def test_rows_are_not_drawn_for_a_density() -> None:
    problem, filters = make_problem("density", 0)
    with pytest.raises(ValueError, match="virtual"):
        SampledBlock(4).rows(problem, problem.scores(filters), filters.shape[-1], torch.Generator())


def test_scores_of_atom_are_the_same_size_as_its_features() -> None:
    problem, filters = make_problem("atom", 1)
    whole = F.conv2d(problem.features[0], filters, padding=2)
    torch.testing.assert_close(problem.scores(filters)[0], whole[:, 0, :6, :6])


def model_oracle(problem: FilterObjective, filters: Tensor, index: int) -> tuple[Tensor, Tensor]:
    """Matrix and right-hand side of one sample's quadratic model at the filters, by autograd, without its weight."""
    sample, flat = problem.sample(index), filters.flatten()
    factor = 1 if isinstance(problem, DensityObjective) else 0.5
    matrix = dense_curvature(sample, filters) - problem.regularisation * torch.eye(len(flat), dtype=flat.dtype)
    variable = filters.clone().requires_grad_(True)
    (factor * sample.data_loss(sample.scores(variable)).sum()).backward()
    return matrix / sample.sample_weights, (matrix @ flat - variable.grad.flatten()) / sample.sample_weights


@losses
@few
@given(seed=seeds, kernel=kernels)
def test_exact_learner_solves_the_sum_of_quadratic_models(loss: str, seed: int, kernel: int) -> None:
    """Three updates; every sample is linearised at the filter of its own update."""
    problem, filters = make_problem(loss, seed, kernel, samples=5)
    learner = ExactLearner(beta=1.0, first_part=0.25, iterations=300, most_samples=1)
    learner.start(filters, torch.Generator())
    first = [model_oracle(problem, filters, index) for index in (0, 1)]
    mean, z_mean = ((a + b) / 2 for a, b in zip(*first, strict=True))
    lam = problem.regularisation * torch.eye(filters.numel(), dtype=filters.dtype)
    total, z_total = torch.zeros_like(mean), torch.zeros_like(z_mean)
    for later in (3, 4):
        learner.notice(later)  # none of the three is from the first frame; each update uses the newest only
    for step, index in enumerate((2, 3, 4), start=1):
        learner.notice(index)
        more, z_more = model_oracle(problem, filters, index)
        total, z_total = total + more, z_total + z_more
        filters = learner.update(problem, filters, 1)
        part = max(2 / (2 + step), 0.25)
        matrix = part * mean + (1 - part) / step * total + lam
        truth = torch.linalg.solve(matrix, part * z_mean + (1 - part) / step * z_total)
        torch.testing.assert_close(filters.flatten(), truth, rtol=1e-6, atol=1e-8)


@losses
@few
@given(seed=seeds, kernel=kernels)
def test_a_sample_s_model_has_the_loss_s_gradient(loss: str, seed: int, kernel: int) -> None:
    problem, filters = make_problem(loss, seed, kernel)
    scores = problem.scores(filters)
    for index in range(3):
        rows, moment = quadratic_model(problem.sample(index), scores[:, index : index + 1], kernel)
        matrix, target = model_oracle(problem, filters, index)
        torch.testing.assert_close(rows.T @ rows, matrix)
        torch.testing.assert_close(moment[0], target)
