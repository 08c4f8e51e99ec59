"""Snapshots of P, and P in its factors."""
import pytest
import torch

from rls_ext import InverseCorrelation

DIM = 12


def inputs(count: int, seed: int) -> torch.Tensor:
    return torch.randn(count, DIM, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def taught(seed: int, **settings) -> InverseCorrelation:
    inverse = InverseCorrelation(DIM, delta=0.1, dtype=torch.float64, **settings)
    for x in inputs(5, seed):
        inverse.update(x)
    return inverse


@pytest.mark.parametrize("form", ["dense", "factored"])
@pytest.mark.parametrize("beta", [1.0, 0.9])
@pytest.mark.parametrize("updates", [1, 30])  # 30 inputs fill the space, so that the basis is exchanged, too
def test_a_snapshot_is_untouched_by_later_updates_and_goes_on_like_the_original(form, beta, updates):
    inverse = taught(0, form=form, beta=beta)
    taken, before, steps = inverse.snapshot(), inverse.dense(), inverse.steps
    for x in inputs(updates, 1):
        inverse.update(x)
    assert not torch.allclose(inverse.dense(), before)
    assert torch.equal(taken.dense(), before) and taken.steps == steps
    other = taught(0, form=form, beta=beta)
    for x in inputs(3, 2):
        taken.update(x)
        other.update(x)
    torch.testing.assert_close(taken.dense(), other.dense(), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("when_full", ["shift", "forget"])
def test_a_snapshot_outlives_the_original_giving_rows_up(when_full):
    dim = 200
    inverse = InverseCorrelation(dim, delta=0.1, form="factored", memory_budget=24_000, when_full=when_full)
    generator = torch.Generator().manual_seed(0)
    for _ in range(inverse.max_rank - 1):
        inverse.update(torch.randn(dim, generator=generator))
    taken, before = inverse.snapshot(), inverse.dense()
    while inverse.truncations == 0:
        inverse.update(torch.randn(dim, generator=generator))
    assert torch.equal(taken.dense(), before) and taken.truncations == 0 and taken.error_bound == 0


def test_factors_multiply_to_p_and_appending_leaves_the_old_rows():
    inverse = taught(3, form="factored")
    factors = inverse.factors()
    q, s = factors.basis, factors.core
    product = factors.alpha * (torch.eye(DIM, dtype=torch.float64) - q.T @ q) + q.T @ s @ q
    torch.testing.assert_close(product, inverse.dense(), rtol=1e-12, atol=1e-12)
    kept = q.clone()
    assert inverse.only_appends(DIM - 6) and not inverse.only_appends(DIM - 5)
    for x in inputs(DIM - 6, 4):
        inverse.update(x)
    assert torch.equal(inverse.factors().basis[:5], kept)


def test_a_full_matrix_has_no_factors():
    dense, whole = taught(5, form="dense"), taught(5, form="factored")
    for x in inputs(2 * DIM, 6):
        whole.update(x)
    for inverse in (dense, whole):
        assert inverse.factors() is None and not inverse.only_appends(1)
