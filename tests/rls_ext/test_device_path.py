"""The path for accelerators, run on the CPU: same numbers, and no waiting for the device."""
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from rls_ext import InverseCorrelation
from tests.rls_ext.oracles import dense_oracle, stream

WAITING = ("_local_scalar_dense", "nonzero", "is_nonzero", "equal", "masked_select")


class CountWaits(TorchDispatchMode):
    """Counts the operators that make the host wait for a GPU."""

    def __init__(self):
        super().__init__()
        self.waits = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.waits += any(word in str(func) for word in WAITING)
        return func(*args, **(kwargs or {}))


def deferred(dim, **options):
    inverse = InverseCorrelation(dim, form="factored", **options)
    inverse._impl.deferred = True
    return inverse


def test_deferred_rows_give_the_same_matrix_and_rank():
    inputs = stream("repeated", 70, 30, seed=0) + stream("nearly_collinear", 10, 30, seed=0)
    late, eager = deferred(30, delta=0.1, beta=0.99), InverseCorrelation(30, delta=0.1, beta=0.99, form="factored")
    for x in inputs:
        late.update(x)
        eager.update(x)
    torch.testing.assert_close(late.dense(), eager.dense(), rtol=1e-5, atol=1e-6)
    assert late.rank == eager.rank == 12
    truth = dense_oracle(inputs, 0.1, 0.99)
    torch.testing.assert_close(late.dense().double(), truth, rtol=1e-5, atol=1e-5 * float(truth.abs().max()))


def test_hot_path_does_not_wait_between_checks():
    inverse = deferred(40, delta=0.1)
    inputs, g = stream("random", 20, 40, seed=0), torch.ones(3, 40)
    with CountWaits() as counter:
        for x in inputs:
            inverse._impl.update(x.float().reshape(1, -1))
            inverse.precondition(g)
    allowed = len(inputs)  # the CPU-only question whether a second Gram-Schmidt round is needed
    assert counter.waits <= allowed


def test_counting_mode_sees_waits():
    with CountWaits() as counter:
        float(torch.ones(()))
    assert counter.waits == 1
