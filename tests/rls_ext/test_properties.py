"""What must hold for any inputs, and for any number of them."""
import math
import warnings

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from rls_ext import (
    ForgettingOverflowError,
    InverseCorrelation,
    PositiveDefinitenessError,
    PositiveDefinitenessWarning,
)
from tests.rls_ext.oracles import STREAMS, TOLERANCE, dense_oracle, relative_error, stream

relaxed = settings(max_examples=40, deadline=None)


def fed(inputs, **options):
    inverse = InverseCorrelation(inputs[0].shape[-1], **options)
    for x in inputs:
        inverse.update(x.to(inverse.dtype))
    return inverse


@relaxed
@given(
    kind=st.sampled_from(STREAMS),
    count=st.integers(1, 25),
    dim=st.integers(1, 30),
    seed=st.integers(0, 2**31),
    delta=st.floats(1e-3, 10.0),
    beta=st.floats(0.8, 1.0),
)
def test_factored_equals_dense_in_float64(kind, count, dim, seed, delta, beta):
    inputs = stream(kind, count, dim, seed)
    factored = fed(inputs, delta=delta, beta=beta, form="factored", dtype=torch.float64)
    dense = fed(inputs, delta=delta, beta=beta, form="dense", dtype=torch.float64)
    truth = dense_oracle(inputs, delta, beta)
    g = stream("random", 1, 3 * dim, seed + 1)[0].reshape(3, dim)
    assert relative_error(factored.precondition(g), g, truth) < TOLERANCE[torch.float64]
    # the literal recursion loses digits where directions shrink far below alpha = |P_0| / beta^n
    scale = 1.0 / (delta * beta**count)
    assert (factored.dense() - dense.dense()).abs().max() < 1e-8 * scale


@relaxed
@given(
    kind=st.sampled_from(STREAMS), count=st.integers(1, 25), dim=st.integers(1, 40), seed=st.integers(0, 2**31),
    delta=st.sampled_from((5e-4, 0.1, 1.0)), form=st.sampled_from(("factored", "auto")),
)
def test_float32_within_tolerance_of_float64(kind, count, dim, seed, delta, form):
    inputs = stream(kind, count, dim, seed)
    inverse = fed(inputs, delta=delta, form=form)
    g = stream("random", 1, 3 * dim, seed + 1)[0].reshape(3, dim).float()
    assert relative_error(inverse.precondition(g), g, dense_oracle(inputs, delta)) < TOLERANCE[torch.float32]


@relaxed
@given(b=st.integers(1, 12), p=st.integers(1, 12), q=st.integers(1, 5), seed=st.integers(0, 2**31))
def test_virtual_pair_never_costs_more_than_its_block(b, p, q, seed):
    """Eq. submultiplicativity: |mean(y) - W mean(x)|^2 <= |Y - X W^T|^2 / b."""
    generator = torch.Generator().manual_seed(seed)
    x, y, w = (torch.randn(s, generator=generator, dtype=torch.float64) for s in ((b, p), (b, q), (q, p)))
    virtual = (y.mean(0) - w @ x.mean(0)).square().sum()
    block = (y - x @ w.T).square().sum() / b
    assert virtual <= block * (1 + 1e-12)


@relaxed
@given(dim=st.integers(2, 30), seed=st.integers(0, 2**31), scale=st.floats(1e-3, 30.0))
def test_repeated_inputs_do_not_raise_the_rank(dim, seed, scale):
    """Up to a size from which on float32's rounding of an input matters beside P_0 = I."""
    x, y = (scale * v for v in stream("random", 2, dim, seed))
    for dtype, nudge in ((torch.float32, 1e-8), (torch.float64, 1e-15)):
        inverse = InverseCorrelation(dim, delta=1.0, form="factored", dtype=dtype)
        for i in range(40):
            inverse.update(((x if i % 2 else y) * (1 + nudge * i)).to(dtype))
            inverse.update((x - y).to(dtype))
        assert inverse.rank <= 3 and (dtype == torch.float32 or inverse.rank == 2)


@pytest.mark.parametrize(("form", "beta"), [("factored", 1.0), ("auto", 0.999)])
def test_positive_definite_and_exact_after_100000_updates(form, beta):
    dim, delta = 12, 1e-3
    generator = torch.Generator().manual_seed(0)
    directions = torch.randn(3 * dim, dim, generator=generator) * torch.logspace(-2, 1, 3 * dim)[:, None]
    inverse = InverseCorrelation(dim, delta=delta, beta=beta, form=form)
    phi = torch.eye(dim, dtype=torch.float64) * delta
    picks = torch.randint(len(directions), (100_000,), generator=generator)
    for pick in picks.tolist():
        inverse.update(directions[pick])
    counts = torch.zeros(len(directions), dtype=torch.float64)
    counts.scatter_add_(0, picks, beta ** torch.arange(99_999, -1, -1, dtype=torch.float64))
    phi = phi * beta**100_000 + (directions.double().T * counts) @ directions.double()
    matrix = inverse.dense().double()
    assert inverse.steps == 100_000 and inverse.rank == dim
    assert torch.equal(matrix, matrix.T)
    assert torch.linalg.eigvalsh(matrix).min() > 0
    truth = torch.linalg.inv(phi)
    assert torch.linalg.matrix_norm(matrix - truth, 2) < 1e-6 * torch.linalg.matrix_norm(truth, 2)


def test_thousands_of_updates_with_forgetting_stay_positive_definite_on_a_thin_span():
    """alpha grows to 1e20 beside directions excited at every step: nothing is lost, nothing turns negative."""
    inputs = stream("two_clusters", 8, 40, seed=3)
    inverse = InverseCorrelation(40, delta=0.1, beta=0.99, form="factored")
    for i in range(4_000):
        inverse.update(inputs[i % 8])
    assert inverse.rank == 8
    for x in inputs:
        energy = torch.dot(x.double(), inverse.gain(x).double())
        assert 0 < energy < 1  # x^T P_n x of an excited direction
    assert torch.linalg.eigvalsh(inverse.factors().core.double()).min() > 0


def test_forgetting_without_excitation_ends_in_a_named_error():
    for form in ("factored", "auto", "dense"):
        inverse = InverseCorrelation(5, delta=1.0, beta=0.5, form=form)
        x = torch.zeros(5)
        x[0] = 1.0
        with pytest.raises(ForgettingOverflowError, match="reset"):
            for _ in range(300):
                inverse.update(x)
        assert 100 < inverse.steps < 130  # 2^n reaches the end of float32 at n = 128
        assert torch.isfinite(inverse.dense()).all()
        inverse.reset()
        inverse.update(x)


def test_every_direction_excited_forgetting_never_overflows():
    inverse = InverseCorrelation(4, delta=1.0, beta=0.5)
    for i in range(2_000):
        inverse.update(torch.eye(4)[i % 4] * 10)
    assert torch.isfinite(inverse.dense()).all() and torch.linalg.eigvalsh(inverse.dense()).min() > 0


def strong_inputs(count):
    generator = torch.Generator().manual_seed(1)
    common = torch.randn(24, generator=generator).abs()
    return [40 * common + 8 * torch.randn(24, generator=generator) for _ in range(count)]


def test_loss_of_positive_definiteness_is_reported_and_recovered():
    inverse = InverseCorrelation(24, delta=0.01, form="dense", dtype=torch.float16)
    with pytest.warns(PositiveDefinitenessWarning, match="restarted"):
        for x in strong_inputs(200):
            inverse.update(x)
    assert torch.isfinite(inverse.dense()).all() and (inverse.dense().diagonal() > 0).all()


def test_loss_of_positive_definiteness_can_be_an_error_that_changes_nothing():
    inverse = InverseCorrelation(24, delta=0.01, form="dense", dtype=torch.float16, on_loss="raise")
    before = inverse.dense()
    with pytest.raises(PositiveDefinitenessError, match="factored"):
        for x in strong_inputs(200):
            before = inverse.dense()
            inverse.update(x)
    assert torch.equal(inverse.dense(), before)


def test_the_factored_form_takes_the_same_inputs_without_a_word():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        inverse = fed(strong_inputs(200), delta=0.01, form="factored")
    assert torch.linalg.eigvalsh(inverse.dense().double()).min() > 0


def test_strongly_excited_direction_is_not_lost():
    x = torch.ones(50) * 100
    inverse = InverseCorrelation(50, delta=1e-4, form="factored")
    for _ in range(1000):
        inverse.update(x)
    energy = 50 * 1e4  # |x|^2
    expected = x.double() / (1e-4 + energy * 1000 + energy)  # gain: x / (delta + 1001 |x|^2)
    torch.testing.assert_close(inverse.gain(x).double(), expected, rtol=1e-6, atol=0)
    assert inverse.rank == 1 and math.isclose(float(inverse.precondition(x).norm()), 0.0, abs_tol=1e4 * 707 * 1e-6)
