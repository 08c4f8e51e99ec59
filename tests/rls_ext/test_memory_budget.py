"""P under a memory budget: exact while it fits, then within its own bound of the exact P, and never larger."""
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rls_ext import HyperparameterError, InverseCorrelation, StateMismatchError
from rls_ext.truncation import ErrorBound, bytes_at_rank, complement_reflection, rank_within, slack_of
from tests.rls_ext.oracles import STREAMS, TOLERANCE, dense_oracle, relative_error, stream

relaxed = settings(max_examples=60, deadline=None)


def budget_for(rank, dim, dtype=torch.float64):
    return bytes_at_rank(rank, dim, dtype, torch.float64)


def budgeted(rank, dim, dtype=torch.float64, **options):
    return InverseCorrelation(dim, dtype=dtype, memory_budget=budget_for(rank, dim, dtype), **options)


def feed(inverse, inputs):
    for x in inputs:
        inverse.update(x.to(inverse.dtype))
    return inverse


@relaxed
@given(
    kind=st.sampled_from(STREAMS), count=st.integers(1, 60), dim=st.integers(3, 30), room=st.integers(2, 20),
    seed=st.integers(0, 2**31), delta=st.sampled_from((1e-2, 0.1, 1.0, 10.0)), beta=st.floats(0.9, 1.0),
    size=st.floats(1e-2, 3.0), dtype=st.sampled_from((torch.float32, torch.float64)),
)
def test_reported_bound_holds_against_the_dense_oracle(kind, count, dim, room, seed, delta, beta, size, dtype):
    inputs = [(size * x).float().double() for x in stream(kind, count, dim, seed)]
    inverse = feed(budgeted(min(room, dim), dim, dtype, delta=delta, beta=beta), inputs)
    exact = dense_oracle(inputs, delta, beta)
    alpha = 1.0 / (delta * beta**count)
    kept = inverse.dense().double()
    error = float(torch.linalg.matrix_norm(kept - exact, 2)) / alpha
    assert error <= inverse.error_bound + 2 * TOLERANCE[dtype]
    eigenvalues = torch.linalg.eigvalsh(kept)
    assert eigenvalues.min() > -TOLERANCE[dtype] * alpha and eigenvalues.max() < alpha * (1 + TOLERANCE[dtype])
    assert inverse.rank <= min(room, dim)
    if dtype == torch.float64:
        assert eigenvalues.min() > 0


@relaxed
@given(kind=st.sampled_from(STREAMS), dim=st.integers(12, 30), seed=st.integers(0, 2**31), beta=st.floats(0.9, 1.0))
def test_exact_while_the_directions_fit(kind, dim, seed, beta):
    inputs = stream(kind, 5, dim, seed)  # at most 12 rows
    inverse = feed(budgeted(12, dim, delta=0.1, beta=beta), inputs)
    g = stream("random", 1, 3 * dim, seed + 1)[0].reshape(3, dim)
    assert relative_error(inverse.precondition(g), g, dense_oracle(inputs, 0.1, beta)) < TOLERANCE[torch.float64]
    assert inverse.error_bound < 1e-12


@relaxed
@given(
    kind=st.sampled_from(STREAMS), count=st.integers(1, 60), dim=st.integers(3, 30), room=st.integers(2, 20),
    seed=st.integers(0, 2**31),
)
def test_bound_is_small_for_streams_of_low_rank(kind, count, dim, room, seed):
    """The a priori bound: energy outside the best k directions / (rows kept + 1 - k), half of it, times alpha."""
    inputs = stream(kind, count, dim, seed)
    room = min(room, dim)
    inverse = feed(budgeted(room, dim, delta=0.1, rank_tol=0.0), inputs)
    energy = torch.linalg.svdvals(torch.cat([x.reshape(-1, dim) for x in inputs])).square()
    tails = energy.flip(0).cumsum(0).flip(0)
    kept = room - slack_of(room, "shift")
    h = min(float(tails[k]) / (2 * (kept + 1 - k)) if k < len(tails) else 0.0 for k in range(kept + 1)) / 0.1
    assert inverse.error_bound <= h / (1 + h) + 1e-6


def test_bound_is_reached_by_a_single_truncation():
    """Orthogonal inputs of falling strength: the weakest seen is given up, at half of its energy."""
    strengths = torch.tensor([5.0, 4.0, 3.0, 0.5, 0.6], dtype=torch.float64)
    inputs = list(torch.eye(8, dtype=torch.float64)[:5] * strengths[:, None])
    inverse = feed(budgeted(4, 8, delta=2.0), inputs)
    half = 0.25 / 2
    expected = torch.full((8,), 2.0, dtype=torch.float64) + half
    expected[:3] += strengths[:3] ** 2 - 2 * half
    expected[4] += strengths[4] ** 2  # came after the truncation
    torch.testing.assert_close(inverse.dense(), torch.diag(1 / expected))
    error = torch.linalg.matrix_norm(inverse.dense() - dense_oracle(inputs, 2.0), 2) / 0.5
    assert inverse.rank == 4
    assert float(error) == pytest.approx(half / (2 + half), rel=1e-9) == pytest.approx(inverse.error_bound, rel=1e-9)


def test_the_weakest_directions_are_given_up():
    """No choice of rows to keep comes nearer: the error is half of the next eigenvalue of Phi - sigma I."""
    inputs = [(1 + i % 3) * x for i, x in enumerate(stream("random", 9, 20, seed=4))]
    inputs.append(1e-5 * stream("random", 1, 20, seed=5)[0])  # one more direction than there is room for
    inverse = feed(budgeted(9, 20, delta=0.1), inputs)
    rows = torch.stack(inputs)
    rho = torch.linalg.eigvalsh(rows.T @ rows).flip(0)[8]
    assert inverse.truncations == 1
    phi = rows.T @ rows + 0.1 * torch.eye(20, dtype=torch.float64)
    difference = torch.linalg.inv(inverse.dense()) - phi
    assert float(torch.linalg.matrix_norm(difference, 2)) == pytest.approx(float(rho) / 2, rel=1e-7)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_thousands_of_updates_stay_in_memory_orthonormal_and_positive_definite(dtype):
    dim, rank = 64, 16
    inverse = budgeted(rank, dim, dtype, delta=0.1)
    generator = torch.Generator().manual_seed(0)
    common = torch.randn(6, dim, generator=generator, dtype=torch.float64)
    phi, largest = 0.1 * torch.eye(dim, dtype=torch.float64), 0
    for _ in range(3000):
        x = torch.randn(6, generator=generator, dtype=torch.float64) @ common
        x = (x + 1e-3 * torch.randn(dim, generator=generator, dtype=torch.float64)).float()
        inverse.update(x.to(dtype))
        phi += torch.outer(x.double(), x.double())
        largest = max(largest, inverse.nbytes)
    q = inverse.state_dict()["impl"]["basis"].double()
    assert largest <= inverse.memory_budget and inverse.max_rank == rank >= inverse.rank
    tolerance = 1e-11 if dtype == torch.float64 else 1e-7
    assert (q @ q.T - torch.eye(len(q), dtype=torch.float64)).abs().max() < tolerance
    error = torch.linalg.matrix_norm(inverse.dense().double() - torch.linalg.inv(phi), 2) / 10
    assert float(error) <= inverse.error_bound + TOLERANCE[dtype]
    assert 0 < inverse.error_bound < 0.1  # the stream is of rank six but for noise, and the bound says so
    assert torch.linalg.eigvalsh(inverse.dense().double()).min() > 0


def test_left_out_directions_enter_the_bound():
    inverse = budgeted(5, 10, delta=1.0, rank_tol=0.05)
    x, y = torch.zeros(2, 10, dtype=torch.float64)
    x[0], y[0], y[1] = 1.0, 1.0, 0.01
    feed(inverse, [x, y])
    error = torch.linalg.matrix_norm(inverse.dense() - dense_oracle([x, y], 1.0), 2)
    assert inverse.rank == 1
    assert 1e-3 < float(error) <= inverse.error_bound < 0.05


@relaxed
@given(r=st.integers(1, 12), k=st.integers(1, 12), seed=st.integers(0, 2**31))
@example(r=4, k=4, seed=0)
def test_reflection_turns_dropped_directions_onto_the_last_axes(r, k, seed):
    k = min(k, r)
    generator = torch.Generator().manual_seed(seed)
    dropped = torch.linalg.qr(torch.randn(r, r, generator=generator, dtype=torch.float64))[0][:, :k]
    normals, weights = complement_reflection(dropped)
    h = torch.eye(r, dtype=torch.float64) - normals @ weights @ normals.T
    torch.testing.assert_close(h @ h.T, torch.eye(r, dtype=torch.float64), atol=1e-12, rtol=0)
    assert (h @ dropped)[: r - k].abs().sum() < 1e-11


def test_large_block_under_a_small_budget():
    block = stream("random", 1, 25 * 12, seed=2)[0].reshape(25, 12)
    inverse = budgeted(6, 12, delta=0.5, beta=0.9)
    inverse.update(block)
    exact = dense_oracle([block], 0.5, 0.9)
    error = torch.linalg.matrix_norm(inverse.dense() - exact, 2) * 0.45
    assert inverse.rank <= 6 and inverse.steps == 1 and 0 < float(error) <= inverse.error_bound


def test_budget_with_room_for_all_is_exact_for_ever():
    inputs = stream("random", 40, 6, seed=9)
    inverse = feed(budgeted(6, 6, delta=0.1), inputs)
    torch.testing.assert_close(inverse.dense(), dense_oracle(inputs, 0.1))
    assert inverse.error_bound < 1e-12 and inverse.nbytes <= inverse.memory_budget


def test_without_a_budget_nothing_is_given_up():
    inverse = feed(InverseCorrelation(30, delta=0.1, form="factored"), stream("random", 29, 30, seed=1))
    assert inverse.rank == 29 and inverse.max_rank == 30 and inverse.error_bound == 0


def test_auto_stays_within_its_budget_where_it_would_become_dense():
    for dim in (40, 1100):
        inverse = budgeted(8, dim, torch.float32, delta=0.1, form="auto")
        for _ in range(30):
            inverse.update(torch.randn(20, dim))
        assert inverse.current_form == "factored" and inverse.nbytes <= inverse.memory_budget


def test_state_carries_the_bound_and_refuses_a_smaller_budget():
    inputs = stream("random", 20, 30, seed=5)
    inverse = feed(budgeted(8, 30, delta=0.1), inputs)
    copy = budgeted(8, 30, delta=0.1)
    copy.load_state_dict(inverse.state_dict())
    assert copy.error_bound == inverse.error_bound > 0
    for each in (inverse, copy):
        feed(each, stream("random", 5, 30, seed=6))
    torch.testing.assert_close(copy.dense(), inverse.dense())
    assert copy.nbytes <= copy.memory_budget
    with pytest.raises(StateMismatchError, match="memory_budget"):
        budgeted(3, 30, delta=0.1).load_state_dict(inverse.state_dict())


def test_a_wider_type_has_room_for_fewer_directions():
    inputs = stream("random", 8, 30, seed=5)
    inverse = feed(budgeted(8, 30, torch.float32, delta=0.1), inputs)
    inverse.to(dtype=torch.float64)
    error = torch.linalg.matrix_norm(inverse.dense() - dense_oracle(inputs, 0.1), 2) / 10
    assert inverse.rank <= inverse.max_rank < 8 and inverse.nbytes <= inverse.memory_budget
    assert 0 < float(error) <= inverse.error_bound + 1e-6


def test_reset_forgets_the_error():
    inverse = feed(budgeted(3, 20, delta=0.1), stream("random", 9, 20, seed=5))
    assert inverse.error_bound > 0
    inverse.reset()
    assert inverse.error_bound == 0 and inverse.rank == 0


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
def test_rank_within_a_budget_is_the_highest_that_fits(dtype):
    for budget in (2**16, 7 * 2**20):
        rank = rank_within(budget, 512, dtype, torch.float64)
        assert bytes_at_rank(rank, 512, dtype, torch.float64) <= budget
        assert rank == 512 or bytes_at_rank(rank + 1, 512, dtype, torch.float64) > budget


@pytest.mark.parametrize("options", [{"memory_budget": 100}, {"memory_budget": 2**20, "form": "dense"}])
def test_bad_budgets_are_named(options):
    with pytest.raises(HyperparameterError, match="memory_budget"):
        InverseCorrelation(50, delta=1.0, **options)


def test_bound_of_too_much_left_out_is_no_bound():
    assert ErrorBound(left_out=1.0).relative == 1
    assert ErrorBound().relative == 0


def test_forgotten_directions_are_as_if_never_seen_and_the_others_exact():
    """Orthogonal inputs of different lengths: what is kept has exactly its own energy, the rest P_0's."""
    dim, delta, seen = 60, 1e-3, 24
    lengths = torch.linspace(5.0, 1.0, seen, dtype=torch.float64)
    budget = bytes_at_rank(16, dim, torch.float64, torch.float64)
    forgetting, sharing = (
        InverseCorrelation(dim, delta=delta, dtype=torch.float64, form="factored", memory_budget=budget, when_full=rule)
        for rule in ("forget", "shift")
    )
    for number in range(seen):
        row = torch.zeros(dim, dtype=torch.float64)
        row[number] = lengths[number]
        forgetting.update(row)
        sharing.update(row)
    assert forgetting.truncations and forgetting.rank <= forgetting.max_rank == 16
    assert forgetting.truncations < sharing.truncations  # half the directions go at a time, instead of an eighth
    found, exact = forgetting.dense(), 1 / (delta + lengths**2)
    for number in range(seen):
        value = float(found[number, number])
        assert value == pytest.approx(float(exact[number]), rel=1e-9) or value == pytest.approx(1 / delta, rel=1e-9)
    assert sum(float(found[k, k]) < 1 for k in range(seen)) == forgetting.rank
    torch.testing.assert_close(found[seen:, seen:].diagonal(), torch.full((dim - seen,), 1 / delta).double())
    assert float(sharing.dense()[-1, -1]) < 0.01 / delta  # what sharing does to directions that were never seen
    error = torch.linalg.matrix_norm(found - torch.diag(torch.cat([exact, torch.full((dim - seen,), 1 / delta)])), 2)
    assert float(error) * delta <= forgetting.error_bound <= 1


def test_an_unknown_rule_is_refused():
    with pytest.raises(HyperparameterError, match="when_full"):
        InverseCorrelation(8, delta=1.0, when_full="drop")
