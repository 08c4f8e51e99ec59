"""Ridge regression of boxes against the normal equations in float64."""
import numpy as np
import pytest
import torch

from pytracking.tracker.rtmdnet.box_regressor import BoxRegressor, ridge_regression


def make(penalty: float = 2.0) -> BoxRegressor:
    return BoxRegressor(penalty=penalty, overlap_range=(0.6, 1.0), area_range=(1.0, 2.0))


@pytest.mark.parametrize("shape", [(60, 7), (7, 60)], ids=["primal", "dual"])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-10), (torch.float32, 1e-4)])
def test_ridge_solves_the_normal_equations(shape, dtype, tolerance):
    rng = np.random.default_rng(0)
    features, targets = rng.standard_normal(shape), rng.standard_normal((shape[0], 4))
    exact = np.linalg.solve(features.T @ features + 3 * np.eye(shape[1]), features.T @ targets)
    found = ridge_regression(torch.tensor(features, dtype=dtype), torch.tensor(targets, dtype=dtype), 3.0)
    np.testing.assert_allclose(found.numpy(), exact, rtol=tolerance, atol=tolerance)


def test_learns_to_undo_a_displacement_that_the_features_show():
    rng = np.random.default_rng(1)
    target = np.array([50.0, 40, 40, 30])
    samples = np.concatenate([target[:2] + rng.uniform(-2, 2, (300, 2)), target[2:] * rng.uniform(1, 1.2, (300, 1))], 1)
    features = torch.tensor(np.concatenate([samples[:, :2] - target[:2], samples[:, 2:] - target[2:]], 1))
    regressor = make(penalty=1e-3)
    regressor.fit(features, samples, target)
    refined = regressor.refine(features, samples, (200, 200))
    assert np.abs(refined - target).mean() < 0.25 * np.abs(samples - target).mean()


def test_an_implausible_correction_is_not_made():
    regressor = make()
    regressor.coefficients, regressor.intercept = torch.zeros(3, 4), torch.tensor([5.0, 0, 0, 0])
    samples = np.array([[50.0, 40, 40, 30]])
    np.testing.assert_array_equal(regressor.refine(torch.zeros(1, 3), samples, (200, 200)), samples)


def test_without_usable_samples_it_changes_nothing():
    regressor = make()
    far = np.array([[0.0, 0, 10, 10]])
    regressor.fit(torch.ones(1, 3), far, np.array([100.0, 100, 10, 10]))
    np.testing.assert_array_equal(regressor.refine(torch.ones(1, 3), far, (200, 200)), far)
