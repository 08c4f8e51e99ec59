"""The learning problem and its steepest descent, against dense linear algebra and autograd in double precision."""
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional

from ltr.models.target_classifier import (
    FilterInitializer,
    InstanceL2Norm,
    OptimizerTrace,
    SteepestDescentOptimizer,
    apply_filter,
    classification_features,
    correlate_with_residual,
)
from ltr.models.target_classifier.objective import interpolate_bins


def draw(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


@settings(max_examples=25, deadline=None)
@given(
    sequences=st.integers(1, 3), count=st.integers(1, 3), channels=st.integers(1, 4), height=st.integers(3, 8),
    width=st.integers(3, 8), kernel=st.integers(1, 5), channels_last=st.booleans(),
)
def test_filter_is_a_padded_correlation(sequences, count, channels, height, width, kernel, channels_last):
    features = draw(sequences, count, channels, height, width)
    if channels_last:  # as a tracker's sample memory has them
        features = features.movedim(2, -1).contiguous().movedim(-1, 2)
    filters = draw(sequences, channels, kernel, kernel, seed=1)
    expected = torch.stack(
        [functional.conv2d(f, w[None], padding=kernel // 2)[:, 0] for f, w in zip(features, filters, strict=True)]
    )
    scores = apply_filter(features, filters)
    torch.testing.assert_close(scores, expected)
    residual = draw(*scores.shape, seed=2)
    adjoint = correlate_with_residual(features, residual, kernel)
    assert adjoint.shape == filters.shape
    torch.testing.assert_close((scores * residual).sum(), (filters * adjoint).sum())


@pytest.fixture(scope="module")
def optimizer():
    torch.manual_seed(0)
    module = SteepestDescentOptimizer(
        init_filter_reg=0.1, init_gauss_sigma=0.9, num_dist_bins=20, bin_displacement=0.5, mask_init_factor=3.0
    ).double()
    with torch.no_grad():
        module.spatial_weight_predictor.weight.add_(0.3 * torch.rand(20, dtype=torch.float64).view(1, -1, 1, 1))
    return module.eval()


def problem_of(optimizer, sequences=2, count=3, kernel=4):
    features = draw(sequences, count, 5, 8, 9, seed=5) / 4
    boxes = torch.tensor([40.0, 36.0, 50.0, 44.0], dtype=torch.float64) + 6 * draw(sequences, count, 4, seed=6)
    weight = torch.rand(sequences, count, dtype=torch.float64, generator=torch.Generator().manual_seed(7))
    return optimizer.objective(features, boxes, kernel, weight), draw(sequences, 5, kernel, kernel, seed=8) / 3


@pytest.mark.parametrize("kernel", [3, 4])
def test_gradient_is_half_of_the_losses(optimizer, kernel):
    problem, filters = problem_of(optimizer, kernel=kernel)
    filters.requires_grad_()
    scores = problem.scores(filters)
    (expected,) = torch.autograd.grad(problem.loss(filters, scores).sum(), filters)
    torch.testing.assert_close(problem.gradient(filters, scores), expected / 2)


def test_curvature_is_that_of_the_dense_gauss_newton_matrix(optimizer):
    problem, filters = problem_of(optimizer, sequences=1)
    scores = problem.scores(filters)
    jacobian = torch.autograd.functional.jacobian(lambda w: problem.residual(problem.scores(w)).flatten(), filters)
    jacobian = jacobian.flatten(1)
    dense = jacobian.T @ jacobian + problem.regularisation * torch.eye(jacobian.shape[1], dtype=torch.float64)
    direction = draw(*filters.shape, seed=9)
    expected = direction.flatten() @ dense @ direction.flatten()
    torch.testing.assert_close(problem.curvature(direction, scores), expected.detach()[None])


def test_sequences_are_independent(optimizer):
    problem, filters = problem_of(optimizer)
    boxes = torch.tensor([40.0, 36.0, 50.0, 44.0], dtype=torch.float64) + 6 * draw(2, 3, 4, seed=6)
    together = optimizer(filters, problem.features, boxes, num_iter=4)
    for sequence in range(2):
        alone = optimizer(filters[sequence, None], problem.features[sequence], boxes[sequence], num_iter=4)
        torch.testing.assert_close(together[sequence, None], alone)


def test_steps_decrease_the_loss_and_carried_scores_stay_true(optimizer):
    problem, filters = problem_of(optimizer)
    boxes = torch.tensor([40.0, 36.0, 50.0, 44.0], dtype=torch.float64) + 6 * draw(2, 3, 4, seed=6)
    weight = torch.rand(2, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(7))
    trace = OptimizerTrace()
    optimizer(filters, problem.features, boxes, weight, num_iter=12, trace=trace)
    losses = torch.stack(trace.losses)
    assert (losses[1:] <= losses[:-1] + 1e-12).all() and (losses[-1] < 0.7 * losses[0]).all()
    for iterate, loss in zip(trace.filters, trace.losses, strict=True):
        torch.testing.assert_close(loss, problem.loss(iterate, problem.scores(iterate)))


def test_sample_weights_default_to_equal(optimizer):
    problem, filters = problem_of(optimizer)
    boxes = torch.tensor([40.0, 36.0, 50.0, 44.0], dtype=torch.float64) + 6 * draw(2, 3, 4, seed=6)
    equal = torch.full((2, 3), 1 / 3, dtype=torch.float64)
    torch.testing.assert_close(
        optimizer(filters, problem.features, boxes, equal, 3), optimizer(filters, problem.features, boxes, None, 3)
    )


def test_the_whole_optimisation_is_differentiable():
    torch.manual_seed(0)
    module = SteepestDescentOptimizer(num_iter=2, num_dist_bins=6, bin_displacement=1.0).double()
    features, filters = (draw(1, 2, 2, 4, 4) / 2).requires_grad_(), (draw(1, 2, 3, 3, seed=1) / 2).requires_grad_()
    boxes = torch.tensor([[20.0, 18.0, 24.0, 28.0]] * 2, dtype=torch.float64)[None]
    assert torch.autograd.gradcheck(lambda f, w: module(w, f, boxes), (features, filters))
    module(filters, features, boxes).square().sum().backward()
    for name, parameter in module.named_parameters():
        assert parameter.grad is not None and torch.isfinite(parameter.grad).all() and parameter.grad.any(), name


def test_detach_length_cuts_the_graph():
    module = SteepestDescentOptimizer(num_iter=3, num_dist_bins=6, bin_displacement=1.0, detach_length=1).double()
    features, filters = draw(1, 2, 2, 4, 4) / 2, (draw(1, 2, 3, 3, seed=1) / 2).requires_grad_()
    boxes = torch.tensor([[20.0, 18.0, 24.0, 28.0]] * 2, dtype=torch.float64)[None]
    module(filters, features, boxes).sum().backward()
    assert filters.grad is None and module.log_step_length.grad is not None


def test_interpolation_saturates_and_hits_the_knots():
    table = torch.tensor([[3.0, 1.0, 4.0]], dtype=torch.float64)
    position = torch.tensor([0.0, 0.5, 1.0, 1.75, 2.0, 9.0], dtype=torch.float64)
    assert interpolate_bins(table, position)[0].tolist() == [3.0, 2.0, 1.0, 3.25, 4.0, 4.0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"score_act": "bentpar"}, "score_act"),
        ({"mask_act": "tanh"}, "target_mask_act"),
        ({"num_dist_bins": 1}, "knots"),
    ],
)
def test_unknown_options_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        SteepestDescentOptimizer(**options)


def test_boxes_must_fit_features(optimizer):
    with pytest.raises(ValueError, match="boxes"):
        optimizer.objective(draw(3, 2, 4, 4), draw(2, 4), 4)


def test_instance_norm_gives_every_image_the_same_energy():
    x = draw(3, 4, 5, 6) * torch.tensor([0.1, 1.0, 30.0], dtype=torch.float64).view(3, 1, 1, 1)
    y = InstanceL2Norm(0.25, eps=0)(x)
    torch.testing.assert_close(y.square().mean((1, 2, 3)).sqrt(), torch.full((3,), 0.25, dtype=torch.float64))


def test_features_without_convolution_keep_their_channels():
    assert isinstance(classification_features(8, 8, 4, 0, False, True)[0], InstanceL2Norm)
    with pytest.raises(ValueError, match="final_conv"):
        classification_features(8, 16, 4, 0, False, True)


def test_initializer_averages_over_images():
    torch.manual_seed(1)
    module = FilterInitializer(3, 4).double().eval()
    features, boxes = draw(2, 3, 3, 6, 6), draw(2, 3, 4, seed=1).abs() * 8 + 24
    with torch.no_grad():
        whole = module(features, boxes)
        parts = [module(features[:, i, None], boxes[:, i, None]) for i in range(3)]
    torch.testing.assert_close(whole, sum(parts) / 3)
    module.filter_norm = True
    torch.testing.assert_close(module(features, boxes), whole / (3 * 16))


def test_filter_norm_scale_is_that_of_a_window():
    layers = classification_features(4, 6, 4, 0, True, True)
    assert layers[1].scale == pytest.approx(math.sqrt(1 / (6 * 16)))
