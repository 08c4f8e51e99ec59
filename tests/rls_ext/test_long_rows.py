"""Rows longer than 1024 take another way through Gram-Schmidt: exact where it must be, single precision elsewhere."""
import pytest
import torch

from rls_ext import InverseCorrelation
from rls_ext.basis import OrthonormalBasis
from tests.rls_ext.oracles import STREAMS, TOLERANCE, stream

DIM = 1500


def basis_of(count: int) -> OrthonormalBasis:
    generator = torch.Generator().manual_seed(count)
    rows = torch.linalg.qr(torch.randn(DIM, count, generator=generator, dtype=torch.float64))[0].T
    basis = OrthonormalBasis(DIM, torch.float32, torch.float64, torch.device("cpu"), limit=DIM)
    basis.append(rows)
    return basis


@pytest.mark.parametrize("rows", [3, 200])  # one chunk, several
@pytest.mark.parametrize("new", [1.0, 1e-3, 1e-8], ids=["new", "similar", "repeated"])
def test_split_is_exact_and_what_is_new_is_orthogonal(rows, new):
    basis = basis_of(rows)
    generator = torch.Generator().manual_seed(7)
    known = torch.randn(2, rows, generator=generator, dtype=torch.float64) @ basis.exact()
    block = (known + new * torch.randn(2, DIM, generator=generator, dtype=torch.float64)).float()
    h, rest, size = basis.split(block)
    torch.testing.assert_close(size, torch.linalg.vector_norm(block.double(), dim=1))
    length = torch.linalg.vector_norm(rest, dim=1)
    missing = torch.linalg.vector_norm(h @ basis.exact() + rest - block.double(), dim=1)
    assert (missing < 1e-12 * size).all()
    along = torch.linalg.vector_norm(rest @ basis.exact().T, dim=1)
    assert (along < 3e-7 * length + 1e-13 * size).all()


def test_a_tiny_novelty_beside_a_strong_known_input_is_orthogonal_to_it():
    """Its length is a hundredth of the single precision rounding of the known part."""
    x = torch.randn(1, DIM, generator=torch.Generator().manual_seed(4))
    x[0, 0] = 0
    basis = OrthonormalBasis(DIM, torch.float32, torch.float64, torch.device("cpu"), limit=DIM)
    basis.append(x.double() / torch.linalg.vector_norm(x.double()))
    block = 2 * x
    block[0, 0] = 1e-9 * torch.linalg.vector_norm(x)
    _, rest, _ = basis.split(block)
    assert float((rest @ basis.exact().T).abs()) < 3e-7 * float(torch.linalg.vector_norm(rest))


@pytest.mark.parametrize("kind", STREAMS)
def test_long_inputs_against_the_exact_inverse(kind):
    inputs = stream(kind, 60, DIM, seed=3)
    inverse = InverseCorrelation(DIM, delta=0.1, form="factored")
    for x in inputs:
        inverse.update(x.float())
    rows = torch.cat([x.reshape(-1, DIM) for x in inputs])
    gram = rows @ rows.T
    gram.diagonal().add_(0.1)
    g = torch.randn(3, DIM, generator=torch.Generator().manual_seed(1)).double()
    truth = 10 * (g - (g @ rows.T) @ torch.linalg.solve(gram, rows))
    error = torch.linalg.vector_norm(inverse.precondition(g.float()).double() - truth, dim=1)
    assert (error < TOLERANCE[torch.float32] * 10 * torch.linalg.vector_norm(g, dim=1)).all()


def test_repeated_long_inputs_do_not_raise_the_rank():
    x, y = torch.randn(2, DIM, generator=torch.Generator().manual_seed(2))
    inverse = InverseCorrelation(DIM, delta=1.0, form="factored")
    for i in range(12):
        inverse.update(3 * (x if i % 2 else y))
    assert inverse.rank == 2
