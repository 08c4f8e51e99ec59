"""Results in memory that the caller gives, and rows that start at cache lines."""
import pytest
import torch

from rls_ext import InverseCorrelation, ShapeError
from rls_ext.basis import OrthonormalBasis, aligned_length
from tests.rls_ext.oracles import stream


@pytest.mark.parametrize("updates", [0, 3, 40])  # P = I/delta, low rank, the whole space
@pytest.mark.parametrize("form", ["factored", "auto", "dense"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16])
@pytest.mark.parametrize("rows", [1, 5])
def test_precondition_writes_to_the_memory_given(updates, form, dtype, rows):
    inverse = InverseCorrelation(21, delta=0.5, form=form, dtype=dtype)
    for x in stream("random", updates, 21, seed=1):
        inverse.update(x.to(dtype))
    g = torch.randn(rows, 21, generator=torch.Generator().manual_seed(2)).to(dtype)
    memory = torch.full((rows, 32), 7.0, dtype=dtype)  # rows of the result do not follow each other
    result = inverse.precondition(g, out=memory[:, :21])
    assert result.data_ptr() == memory.data_ptr()
    torch.testing.assert_close(memory[:, :21], inverse.precondition(g), rtol=1e-5, atol=1e-6)
    assert (memory[:, 21:] == 7).all()
    expected = inverse.precondition(g)
    assert inverse.precondition(g, out=g).data_ptr() == g.data_ptr()
    torch.testing.assert_close(g, expected, rtol=1e-5, atol=1e-6)


def test_out_of_another_type_than_p_is_filled_too():
    inverse = InverseCorrelation(6, delta=0.5, dtype=torch.float64)
    inverse.update(torch.arange(6.0))
    g, out = torch.ones(2, 3, 6), torch.empty(2, 3, 6)
    assert inverse.precondition(g, out=out) is out
    torch.testing.assert_close(out, inverse.precondition(g))


@pytest.mark.parametrize("out", [torch.empty(2, 5), torch.empty(3, 6), torch.empty(2, 6, dtype=torch.float64)])
def test_out_that_does_not_fit_is_refused(out):
    with pytest.raises(ShapeError, match="out must be"):
        InverseCorrelation(6, delta=0.5).precondition(torch.ones(2, 6), out=out)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_long_rows_of_the_basis_start_at_cache_lines_and_are_counted(dtype):
    basis = OrthonormalBasis(4609, dtype, torch.float64, torch.device("cpu"), limit=50)
    basis.append(torch.eye(3, 4609, dtype=torch.float64))
    basis.append(torch.eye(30, 4609, dtype=torch.float64)[3:])  # more memory is reserved, and what was there moved
    assert basis.matrix.stride(0) * dtype.itemsize % 64 == 0
    torch.testing.assert_close(basis.exact(), torch.eye(30, 4609, dtype=torch.float64))
    remainders = 0 if dtype == torch.float64 else 2 * 4609
    assert basis.nbytes == basis.capacity * (4616 * 8 if dtype == torch.float64 else 4624 * 4 + remainders)


def test_aligned_length_fills_cache_lines():
    assert [aligned_length(columns, torch.float32) for columns in (1, 16, 17)] == [16, 16, 32]
    assert [aligned_length(columns, torch.float64) for columns in (1, 16, 17)] == [8, 16, 24]
