"""The sketched form: exact while it has room, then within its proven bound of float64 normal equations."""
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from rls_ext import HyperparameterError, NormalEquations, PositiveDefinitenessError, RLSRegressor, StateMismatchError
from rls_ext.sketched_gram import SketchedGram
from tests.rls_ext.oracles import STREAMS, ridge_oracle, stream
from tests.rls_ext.test_normal_equations import TOLERANCE, answers_to, distance, learnt

few = settings(max_examples=25, deadline=None)


def budget(rows, dim, dtype=torch.float64):
    return rows * dim * dtype.itemsize


def sketched(inputs, targets, rows, dtype=torch.float64, **options):
    room = budget(rows, inputs[0].shape[-1], dtype)
    return learnt(inputs, targets, form="sketched", memory_budget=room, dtype=dtype, **options)


def falling(count, dim, seed, ratio=0.7):
    """Blocks of three rows whose strength falls from direction to direction."""
    generator = torch.Generator().manual_seed(seed)
    basis = torch.linalg.qr(torch.randn(dim, dim, generator=generator, dtype=torch.float64))[0]
    scale = ratio ** torch.arange(dim, dtype=torch.float64)
    return [torch.randn(3, dim, generator=generator, dtype=torch.float64) * scale @ basis for _ in range(count)]


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("beta", (1.0, 0.99))
def test_ten_thousand_updates_with_room_for_every_direction(beta, dtype):
    """Twice as many rows as dimensions: nothing is ever lost, only rounded."""
    inputs = stream("blocks", 10_000, 12, seed=1)
    targets = answers_to(inputs, 2)
    equations = sketched(inputs, targets, 24, dtype, delta=0.1, beta=beta)
    truth = ridge_oracle(inputs, targets, 0.1, beta)
    assert equations.steps == 10_000 and equations.form == "sketched"
    assert equations.error_bound <= TOLERANCE[dtype] * float(torch.linalg.matrix_norm(equations.dense(), 2))
    assert distance(equations.solve_exactly(), truth) < TOLERANCE[dtype]
    assert distance(equations.solve(iterations=40), truth) < TOLERANCE[dtype]


@pytest.mark.parametrize(("beta", "dtype"), [(1.0, torch.float64), (0.99, torch.float32)])
def test_ten_thousand_updates_without_room(beta, dtype):
    inputs = falling(10_000, 30, seed=2)
    targets = answers_to(inputs, 1)
    equations = sketched(inputs, targets, 24, dtype, delta=0.1, beta=beta)
    ages = torch.arange(9_999, -1, -1, dtype=torch.float64).repeat_interleave(3)
    rows = torch.cat(inputs) * beta ** (ages[:, None] / 2)
    phi = rows.T @ rows + 0.1 * beta**10_000 * torch.eye(30, dtype=torch.float64)
    size = float(torch.linalg.matrix_norm(phi, 2))
    gap = float(torch.linalg.matrix_norm(equations.dense().double() - phi, 2))
    assert 0 < gap <= equations.error_bound + TOLERANCE[dtype] * size
    assert equations.error_bound < 0.05 * size
    weight, truth = equations.solve_exactly().double(), ridge_oracle(inputs, targets, 0.1, beta)
    least = 0.1 * beta**10_000 + equations.error_bound  # of the sketch's eigenvalues
    bound = equations.error_bound / least * float(truth.norm())  # W~ - W = W (Phi - Phi~) Phi~^-1
    assert float((weight - truth).norm()) <= bound + 20 * TOLERANCE[dtype] * float(truth.norm())


@given(st.integers(0, 2**31 - 1), st.sampled_from(STREAMS), st.integers(2, 9), st.sampled_from([1.0, 0.9]))
@few
def test_never_outside_the_bound(seed, kind, rows, beta):
    inputs = stream(kind, 25, 8, seed)
    targets = answers_to(inputs, 2)
    equations = sketched(inputs, targets, rows, delta=0.3, beta=beta)
    exact = learnt(inputs, targets, delta=0.3, beta=beta, dtype=torch.float64)
    size = float(torch.linalg.matrix_norm(exact.dense(), 2))
    values = torch.linalg.eigvalsh(equations.dense() - exact.dense())
    assert float(values.abs().max()) <= equations.error_bound + 1e-9 * size
    torch.testing.assert_close(equations.targets, exact.targets)
    probe = torch.randn(3, 8, dtype=torch.float64)
    torch.testing.assert_close(equations.product(probe), probe @ equations.dense())
    torch.testing.assert_close(equations.product(probe[0]), probe[0] @ equations.dense())
    found = equations.solve_exactly(ridge=0.2)
    whole = equations.dense() + 0.2 * torch.eye(8, dtype=torch.float64)
    torch.testing.assert_close(found @ whole, equations.targets, rtol=1e-7, atol=1e-9 * size)


@given(st.integers(0, 2**31 - 1), st.integers(2, 6))
@few
def test_the_bound_is_as_small_as_frequent_directions_promise(seed, rank):
    """At most |A - A_k|_F^2 / (2 (rank - k)) for every k below the rank, without forgetting."""
    inputs = falling(15, 10, seed)
    equations = sketched(inputs, answers_to(inputs, 1), 2 * rank, delta=0.1)
    spectrum = torch.linalg.svdvals(torch.cat(inputs)).square()
    for k in range(rank):
        assert equations.error_bound <= float(spectrum[k:].sum()) / (2 * (rank - k)) * (1 + 1e-9)


def test_the_bound_fades_as_the_inputs_do():
    gram = SketchedGram(8, torch.float64, torch.device("cpu"), budget(6, 8))
    for block in falling(12, 8, seed=6):
        gram.add(block)
    before, bound = gram.dense(torch.float64), gram.error_bound
    gram.forget(0.9)
    torch.testing.assert_close(gram.dense(torch.float64), 0.9 * before)
    assert gram.error_bound == pytest.approx(0.9 * bound) and bound > 0


@pytest.mark.parametrize("beta", (1.0, 0.97))
def test_agrees_with_the_recursion_on_p_while_there_is_room(beta):
    inputs = stream("blocks", 40, 14, seed=3)
    targets = answers_to(inputs, 2)
    equations = sketched(inputs, targets, 28, delta=0.2, beta=beta)
    regressor = RLSRegressor(14, 2, 0.2, beta)
    for x, y in zip(inputs, targets, strict=True):
        regressor.update(x, y)
    assert distance(equations.solve_exactly(), regressor.weight) < 1e-9


def test_a_block_longer_than_the_sketch_and_a_moment_instead_of_targets():
    inputs, targets = [torch.randn(50, 6, dtype=torch.float64)], [torch.randn(50, 1, dtype=torch.float64)]
    equations = sketched(inputs, targets, 12, delta=0.1)
    exact = learnt(inputs, targets, delta=0.1, dtype=torch.float64)
    torch.testing.assert_close(equations.dense(), exact.dense())
    other = NormalEquations(6, delta=0.1, dtype=torch.float64)
    other.update_with_moment(inputs[0], targets[0].T @ inputs[0])
    torch.testing.assert_close(other.solve_exactly(), exact.solve_exactly())


def test_rows_longer_than_what_is_shrunk_at_once():
    """Forty rows of rank five in room for twelve: nothing is lost, whichever columns are changed first."""
    generator = torch.Generator().manual_seed(6)
    few_directions = torch.randn(5, 1500, generator=generator, dtype=torch.float64)
    inputs = [torch.randn(4, 5, generator=generator, dtype=torch.float64) @ few_directions for _ in range(10)]
    targets = answers_to(inputs, 1)
    equations = sketched(inputs, targets, 12, delta=0.1)
    exact = learnt(inputs, targets, delta=0.1, dtype=torch.float64)
    torch.testing.assert_close(equations.dense(), exact.dense(), rtol=1e-9, atol=1e-9)


def test_state_move_reset_and_memory():
    inputs = falling(12, 8, seed=5)
    targets = answers_to(inputs, 1)
    room = budget(6, 8, torch.float32)
    first = learnt(inputs[:6], targets[:6], delta=0.1, beta=0.9, form="sketched", memory_budget=room)
    second = NormalEquations(8, delta=0.1, beta=0.9, form="sketched", memory_budget=room)
    second.load_state_dict(first.state_dict())
    for x, y in zip(inputs[6:], targets[6:], strict=True):
        first.update(x, y)
        second.update(x, y)
    assert torch.equal(first.dense(), second.dense()) and second.error_bound == first.error_bound > 0
    assert first.nbytes == room + 4 * 8
    assert second.to(dtype=torch.float64).solve(iterations=2).dtype == torch.float64
    second.reset()
    assert second.error_bound == 0 and torch.equal(second.dense(), 0.1 * torch.eye(8).double())
    with pytest.raises(StateMismatchError, match="form"):
        NormalEquations(8, delta=0.1, beta=0.9).load_state_dict(first.state_dict())
    small = NormalEquations(8, delta=0.1, beta=0.9, form="sketched", memory_budget=budget(2, 8, torch.float32))
    with pytest.raises(StateMismatchError, match="memory_budget"):
        small.load_state_dict(first.state_dict())


@pytest.mark.parametrize("options", [
    {"form": "sketched"}, {"form": "sketched", "memory_budget": 100}, {"memory_budget": 10**6}, {"form": "low-rank"},
])  # fmt: skip
def test_settings_that_make_no_sense(options):
    with pytest.raises(HyperparameterError, match="memory_budget|form"):
        NormalEquations(30, delta=1.0, **options)


def test_an_open_solution_is_named():
    equations = NormalEquations(4, delta=0.0, form="sketched", memory_budget=budget(8, 4, torch.float32))
    equations.update(torch.ones(4), torch.ones(1))
    with pytest.raises(PositiveDefinitenessError, match="ridge"):
        equations.solve_exactly()
    torch.testing.assert_close(equations.solve_exactly(ridge=4.0), torch.full((1, 4), 1 / 8))
