"""The exact estimator against batch ridge regression."""
import pytest
import torch

from rls_ext import HyperparameterError, NonFiniteInputError, RLSRegressor, ShapeError, StateMismatchError
from tests.rls_ext.oracles import ridge_oracle


def pairs(sizes, p, q, seed=0):
    generator = torch.Generator().manual_seed(seed)
    shape = [(b,) if b else () for b in sizes]
    x = [torch.randn(*s, p, generator=generator, dtype=torch.float64) for s in shape]
    y = [torch.randn(*s, q, generator=generator, dtype=torch.float64) for s in shape]
    return x, y


@pytest.mark.parametrize("form", ("dense", "factored", "auto"))
@pytest.mark.parametrize("sizes", [[0] * 30, [4] * 12, [0, 3, 1, 0, 7, 30]], ids=("single", "blocks", "mixed"))
@pytest.mark.parametrize("beta", (1.0, 0.95))
def test_equals_batch_ridge_regression(beta, sizes, form):
    x, y = pairs(sizes, p=14, q=3)
    regressor = RLSRegressor(14, 3, 0.2, beta, form=form)
    for xi, yi in zip(x, y, strict=True):
        regressor.update(xi, yi)
    truth = ridge_oracle(x, y, 0.2, beta)
    assert torch.linalg.matrix_norm(regressor.weight - truth) < 1e-10 * torch.linalg.matrix_norm(truth)
    probe = torch.randn(5, 14, dtype=torch.float64)
    torch.testing.assert_close(regressor.predict(probe), probe @ truth.T, rtol=1e-9, atol=1e-9)
    assert regressor.predict(probe[0]).shape == (3,)


def test_more_features_than_samples():
    x, y = pairs([0] * 10, p=200, q=2)
    regressor = RLSRegressor(200, 2, 1e-2)
    for xi, yi in zip(x, y, strict=True):
        regressor.update(xi, yi)
    truth = ridge_oracle(x, y, 1e-2, 1.0)
    assert torch.linalg.matrix_norm(regressor.weight - truth) < 1e-10 * torch.linalg.matrix_norm(truth)
    assert regressor.inverse.rank == 10


def test_state_round_trip_and_reset():
    x, y = pairs([3] * 6, p=5, q=2)
    first, second = RLSRegressor(5, 2, 0.1, 0.9), RLSRegressor(5, 2, 0.1, 0.9)
    for xi, yi in zip(x[:3], y[:3], strict=True):
        first.update(xi, yi)
    second.load_state_dict(first.state_dict())
    for xi, yi in zip(x[3:], y[3:], strict=True):
        first.update(xi, yi)
        second.update(xi, yi)
    torch.testing.assert_close(first.weight, second.weight, rtol=1e-12, atol=1e-14)
    first.reset()
    assert not first.weight.any() and first.inverse.steps == 0
    with pytest.raises(StateMismatchError, match="weight"):
        RLSRegressor(5, 3, 0.1, 0.9).load_state_dict(first.state_dict())


def test_bad_input_changes_nothing():
    regressor = RLSRegressor(4, 2, 1.0)
    regressor.update(torch.ones(4), torch.ones(2))
    before = regressor.weight.clone()
    for x, y in ((torch.ones(5), torch.ones(2)), (torch.ones(4), torch.ones(3)), (torch.ones(2, 4), torch.ones(2))):
        with pytest.raises(ShapeError):
            regressor.update(x, y)
    with pytest.raises(NonFiniteInputError):
        regressor.update(torch.ones(4) * torch.nan, torch.ones(2))
    with pytest.raises(NonFiniteInputError):
        regressor.update(torch.ones(4), torch.ones(2) * torch.inf)
    with pytest.raises(ShapeError):
        regressor.predict(torch.ones(3))
    with pytest.raises(HyperparameterError):
        RLSRegressor(4, 0, 1.0)
    assert torch.equal(regressor.weight, before) and regressor.inverse.steps == 1
