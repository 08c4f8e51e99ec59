"""The path for accelerators: on the CPU it gives the same numbers, and on torch's meta device, whose tensors hold no
numbers, it runs through: nothing in it waits for a number."""
import pytest
import torch

from rls_ext import InverseCorrelation, NormalEquations, RLSRegressor, devices, virtual_input_conv, virtual_input_linear
from tests.rls_ext.oracles import dense_oracle, stream

FEW = 20  # updates, as many as fit before memory grows and rows without news are looked for


@pytest.mark.parametrize("budget", [None, 9000])
def test_without_looking_the_matrix_and_its_rank_are_the_same(monkeypatch, budget):
    inputs = stream("repeated", 70, 30, seed=0) + stream("nearly_collinear", 10, 30, seed=0)
    options = {"delta": 0.1, "beta": 0.99, "form": "factored", "memory_budget": budget}
    looking = InverseCorrelation(30, **options)
    for x in inputs:
        looking.update(x)
    monkeypatch.setattr(devices, "may_look", lambda device: False)
    blind = InverseCorrelation(30, **options)
    for x in inputs:
        blind.update(x)
    torch.testing.assert_close(blind.dense(), looking.dense(), rtol=1e-5, atol=1e-6)
    assert blind.rank == looking.rank == 12
    truth = dense_oracle(inputs, 0.1, 0.99)
    torch.testing.assert_close(blind.dense().double(), truth, rtol=1e-5, atol=1e-5 * float(truth.abs().max()))


@pytest.mark.parametrize("options", [
    {"form": "factored"}, {"form": "factored", "beta": 0.95}, {"form": "factored", "memory_budget": 2**20},
    {"form": "dense"}, {"form": "dense", "beta": 0.95, "dtype": torch.float16}, {"form": "auto"},
])  # fmt: skip
def test_updates_and_products_on_a_device_never_ask_for_a_number(options):
    inverse = InverseCorrelation(200, delta=0.1, device="meta", **options)
    for _ in range(FEW):
        inverse.update(torch.randn(200, device="meta"))
        product = inverse.precondition(torch.randn(3, 200, device="meta"))
    assert product.shape == (3, 200) and product.device.type == "meta" and inverse.steps == FEW


def test_a_regressor_and_virtual_inputs_on_a_device_never_ask_for_a_number():
    regressor = RLSRegressor(50, 4, 0.1, device="meta")
    features = torch.rand(6, 2, 9, 9, device="meta")
    for _ in range(5):
        regressor.update(torch.randn(3, 50, device="meta"), torch.randn(3, 4, device="meta"))
    assert virtual_input_conv(features, 5, torch.rand(6, device="meta"), bias=True).shape == (51,)
    assert virtual_input_linear(torch.randn(7, 49, device="meta")).shape == (50,)


BAD = pytest.mark.parametrize("bad", [float("nan"), float("inf")])


@pytest.fixture
def blind(monkeypatch):
    """The path for accelerators, with numbers."""
    monkeypatch.setattr(devices, "may_look", lambda device: False)


@BAD
@pytest.mark.parametrize("form", ["dense", "factored"])
def test_without_looking_input_that_cannot_be_used_changes_no_p(blind, form, bad):
    inverse = InverseCorrelation(8, delta=0.1, form=form, dtype=torch.float64)
    for x in stream("random", 5, 8, seed=0):
        inverse.update(x)
    before = inverse.dense().clone()
    inverse.update(torch.full((8,), bad))
    torch.testing.assert_close(inverse.dense(), before, rtol=1e-12, atol=0)


@BAD
@pytest.mark.parametrize("place", ["x", "y"])
def test_without_looking_input_that_cannot_be_used_changes_no_estimate(blind, place, bad):
    generator = torch.Generator().manual_seed(0)
    regressor, equations = RLSRegressor(6, 2, 0.1), NormalEquations(6, 2, delta=0.1, dtype=torch.float64)
    pairs = [(torch.randn(3, 6, generator=generator), torch.randn(3, 2, generator=generator)) for _ in range(3)]
    for x, y in pairs:
        regressor.update(x, y)
        equations.update(x, y)
    before = regressor.weight.clone(), equations.solve_exactly()
    x, y = (each.clone() for each in pairs[0])
    (x if place == "x" else y)[1, 1] = bad
    regressor.update(x, y)
    equations.update(x, y)
    torch.testing.assert_close(regressor.weight, before[0], rtol=1e-12, atol=0)
    torch.testing.assert_close(equations.solve_exactly(), before[1], rtol=1e-12, atol=0)


def test_the_meta_device_notices_questions():
    with pytest.raises(RuntimeError, match="meta"):
        bool(torch.ones((), device="meta"))
