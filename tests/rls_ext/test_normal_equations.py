"""Phi_n and Z_n against float64 least squares on everything seen, against P_n, and what they refuse."""
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from rls_ext import (
    HyperparameterError,
    InverseCorrelation,
    NonFiniteInputError,
    NormalEquations,
    PositiveDefinitenessError,
    RLSRegressor,
    ShapeError,
    StateMismatchError,
    conjugate_gradients,
)
from rls_ext.gram import DenseGram
from tests.rls_ext.oracles import STREAMS, dense_oracle, ridge_oracle, stream

TOLERANCE = {torch.float64: 1e-9, torch.float32: 1e-4}
few = settings(max_examples=25, deadline=None)


def answers_to(inputs, outputs, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(*x.shape[:-1], outputs, generator=generator).double() for x in inputs]


def learnt(inputs, targets, **options):
    equations = NormalEquations(inputs[0].shape[-1], targets[0].shape[-1], **options)
    for x, y in zip(inputs, targets, strict=True):
        equations.update(x, y)
    return equations


def distance(found, truth):
    return float(torch.linalg.matrix_norm(found.double() - truth) / torch.linalg.matrix_norm(truth))


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("beta", (1.0, 0.99))
def test_ten_thousand_updates_against_batch_least_squares(beta, dtype):
    inputs = stream("blocks", 10_000, 12, seed=1)
    targets = answers_to(inputs, 2)
    equations = learnt(inputs, targets, delta=0.1, beta=beta, dtype=dtype)
    truth = ridge_oracle(inputs, targets, 0.1, beta)
    assert equations.steps == 10_000
    assert distance(equations.solve_exactly(), truth) < TOLERANCE[dtype]
    assert distance(equations.solve(), truth) < TOLERANCE[dtype]


@pytest.mark.parametrize("beta", (1.0, 0.95))
@pytest.mark.parametrize("kind", STREAMS)
def test_every_stream_against_batch_least_squares(kind, beta):
    inputs = stream(kind, 60, 9, seed=2)
    targets = answers_to(inputs, 3)
    equations = learnt(inputs, targets, delta=0.1, beta=beta, dtype=torch.float64)
    assert distance(equations.solve_exactly(), ridge_oracle(inputs, targets, 0.1, beta)) < TOLERANCE[torch.float64]


@pytest.mark.parametrize("beta", (1.0, 0.97))
def test_same_estimator_as_the_recursion_on_p(beta):
    inputs = stream("blocks", 40, 14, seed=3)
    targets = answers_to(inputs, 2)
    equations = learnt(inputs, targets, delta=0.2, beta=beta, dtype=torch.float64)
    regressor = RLSRegressor(14, 2, 0.2, beta)
    inverse = InverseCorrelation(14, delta=0.2, beta=beta, dtype=torch.float64)
    for x, y in zip(inputs, targets, strict=True):
        regressor.update(x, y)
        inverse.update(x)
    assert distance(equations.solve_exactly(), regressor.weight) < 1e-10
    torch.testing.assert_close(equations.dense() @ inverse.dense(), torch.eye(14).double(), rtol=0, atol=1e-10)
    torch.testing.assert_close(
        inverse.precondition(equations.targets), equations.solve_exactly(), rtol=1e-9, atol=1e-10
    )


@given(st.integers(0, 2**31 - 1), st.integers(1, 11), st.sampled_from([1.0, 0.9]), st.sampled_from(STREAMS))
@few
def test_slabs_are_the_whole_matrix(seed, block, beta, kind):
    inputs = [torch.atleast_2d(x) for x in stream(kind, 7, 11, seed)]
    gram, truth = DenseGram(11, torch.float64, torch.device("cpu"), block), torch.zeros(11, 11, dtype=torch.float64)
    for x in inputs:
        gram.forget(beta)
        gram.add(x)
        truth = beta * truth + x.T @ x
    torch.testing.assert_close(gram.dense(torch.float64), truth)
    probe = torch.randn(3, 11, dtype=torch.float64)
    torch.testing.assert_close(gram.product(probe), probe @ truth)
    torch.testing.assert_close(gram.product(probe[:1]), probe[:1] @ truth)


@given(st.integers(0, 2**31 - 1), st.sampled_from([1.0, 0.9]), st.sampled_from(STREAMS))
@few
def test_symmetry_and_the_mean(seed, beta, kind):
    """Phi is P's inverse, symmetric, and weight is that of the blocks in it."""
    inputs = stream(kind, 7, 11, seed)
    equations = learnt(inputs, answers_to(inputs, 1), delta=0.5, beta=beta, dtype=torch.float64)
    phi, probe = equations.dense(), torch.randn(3, 11, dtype=torch.float64)
    torch.testing.assert_close(equations.product(probe), probe @ phi)
    torch.testing.assert_close(equations.product(probe[0]), phi @ probe[0])
    truth = torch.linalg.inv(dense_oracle(inputs, 0.5, beta))
    assert distance(phi, truth) < 1e-9
    assert float((phi - phi.T).abs().max()) <= 1e-12 * float(phi.abs().max())
    assert equations.weight == pytest.approx(sum(beta**i for i in range(7)))


@given(st.integers(0, 2**31 - 1), st.floats(0, 5))
@few
def test_a_block_is_its_rows_and_ridge_is_more_delta(seed, ridge):
    inputs, generator = stream("random", 6, 5, seed), torch.Generator().manual_seed(seed)
    targets = [torch.randn(2, generator=generator).double() for _ in inputs]
    one_by_one = learnt(inputs, targets, delta=0.3, dtype=torch.float64)
    at_once = learnt([torch.stack(inputs)], [torch.stack(targets)], delta=0.3 + ridge, dtype=torch.float64)
    torch.testing.assert_close(one_by_one.solve_exactly(ridge=ridge), at_once.solve_exactly())


@given(st.integers(0, 2**31 - 1))
@few
def test_steps_of_conjugate_gradients_only_lower_the_cost(seed):
    inputs = stream("two_clusters", 12, 8, seed)
    targets = answers_to(inputs, 2, seed)
    equations = learnt(inputs, targets, delta=0.1, dtype=torch.float64)
    start = torch.randn(2, 8, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    phi, z = equations.dense(), equations.targets
    costs = [((w @ phi * w).sum(1) / 2 - (w * z).sum(1)) for w in (equations.solve(start, n) for n in range(9))]
    assert torch.equal(equations.solve(start, 0), start)
    room = 1e-9 * costs[0].abs().max()
    assert all(bool((after <= before + room).all()) for before, after in zip(costs, costs[1:], strict=False))
    first = z - start @ phi  # the first step is steepest descent's
    along = (first * first).sum(1, keepdim=True) / (first @ phi * first).sum(1, keepdim=True)
    torch.testing.assert_close(equations.solve(start, 1), start + along * first)


def test_a_row_that_has_arrived_stays():
    target = torch.tensor([[2.0, 4.0], [1.0, 0.0]])
    start = torch.tensor([[1.0, 2.0], [0.0, 0.0]])
    found = conjugate_gradients(lambda rows: 2 * rows, target, start, 5)
    assert torch.equal(found, torch.tensor([[1.0, 2.0], [0.5, 0.0]]))


def test_state_round_trip_move_and_reset():
    inputs = stream("blocks", 6, 5, seed=0)
    targets = answers_to(inputs, 2)
    first = learnt(inputs[:3], targets[:3], delta=0.1, beta=0.9)
    second = NormalEquations(5, 2, delta=0.1, beta=0.9)
    second.load_state_dict(first.state_dict())
    for x, y in zip(inputs[3:], targets[3:], strict=True):
        first.update(x, y)
        second.update(x, y)
    assert torch.equal(first.dense(), second.dense()) and torch.equal(first.targets, second.targets)
    assert (second.steps, second.weight) == (first.steps, first.weight)
    assert second.to(dtype=torch.float64) is second and second.solve(iterations=2).dtype == torch.float64
    assert second.nbytes == 8 * (5 * 5 + 2 * 5)  # small matrices are one slab, kept whole
    second.reset()
    assert torch.equal(second.dense(), 0.1 * torch.eye(5).double()) and not second.targets.any()
    assert (second.steps, second.weight) == (0, 0.0)
    with pytest.raises(StateMismatchError, match="beta"):
        NormalEquations(5, 2, delta=0.1).load_state_dict(first.state_dict())
    with pytest.raises(StateMismatchError, match="'beta'"):
        first.load_state_dict({"dim": 5})


@pytest.mark.parametrize("options", [
    {"dim": 0}, {"outputs": 0}, {"delta": -1.0}, {"delta": float("inf")}, {"beta": 0.0}, {"beta": 1.1},
    {"dtype": torch.float16}, {"dtype": torch.int32},
])  # fmt: skip
def test_settings_that_make_no_sense(options):
    with pytest.raises(HyperparameterError, match=next(iter(options))):
        NormalEquations(**{"dim": 3, "delta": 1.0} | options)


def test_bad_input_changes_nothing():
    equations = NormalEquations(4, 2, delta=1.0, beta=0.5)
    equations.update(torch.ones(4), torch.ones(2))
    before = equations.state_dict()
    for x, y in ((torch.ones(5), torch.ones(2)), (torch.ones(4), torch.ones(3)), (torch.ones(2, 4), torch.ones(2))):
        with pytest.raises(ShapeError):
            equations.update(x, y)
    for x, y in ((torch.nan, 1.0), (1.0, torch.inf), (1e30, 1.0)):
        with pytest.raises(NonFiniteInputError, match="1 steps"):
            equations.update(torch.full((4,), x), torch.full((2,), y))
    for call in (lambda: equations.solve(torch.ones(4)), lambda: equations.product(torch.ones(3))):
        with pytest.raises(ShapeError):
            call()
    for call in (lambda: equations.solve(iterations=-1), lambda: equations.solve_exactly(ridge=-1.0)):
        with pytest.raises(HyperparameterError):
            call()
    after = equations.state_dict()
    assert torch.equal(after["gram"]["slabs"][0], before["gram"]["slabs"][0])
    assert torch.equal(after["targets"], before["targets"])
    assert after["weight"] == before["weight"]


def test_an_open_solution_is_named():
    equations = NormalEquations(3, delta=0.0)
    with pytest.raises(PositiveDefinitenessError, match="ridge"):
        equations.solve_exactly()
    equations.update(torch.tensor([2.0, 0.0, 0.0]), torch.tensor([4.0]))
    assert torch.equal(equations.solve(iterations=3), torch.tensor([[2.0, 0.0, 0.0]]))
    torch.testing.assert_close(equations.solve_exactly(ridge=4.0), torch.tensor([[1.0, 0.0, 0.0]]))


def test_on_a_device_nothing_asks_for_a_number():
    equations = NormalEquations(700, 2, delta=0.1, beta=0.9, device="meta")
    for _ in range(3):
        equations.update(torch.randn(5, 700, device="meta"), torch.randn(5, 2, device="meta"))
    assert equations.solve(torch.zeros(2, 700, device="meta"), 3).shape == (2, 700)
    assert equations.solve_exactly(ridge=0.1).device.type == "meta"


def test_a_block_that_is_not_finite_counts_as_zero_where_nobody_looks(monkeypatch):
    equations = NormalEquations(3, delta=1.0)
    monkeypatch.setattr(NormalEquations, "device", property(lambda self: torch.device("meta")))
    equations.update(torch.tensor([1.0, torch.nan, 0.0]), torch.tensor([1.0]))
    assert torch.equal(equations.dense(), torch.eye(3)) and not equations.targets.any() and equations.steps == 1
