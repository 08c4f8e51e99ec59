"""Exact weighted sums of X^T X for ``NormalEquations``."""
from typing import Any

import torch
from torch import Tensor

from .errors import StateMismatchError


def solve_positive(matrix: Tensor, targets: Tensor, ridge: float) -> tuple[Tensor, Tensor]:
    """Solve W (A + ridge I) = Z for a symmetric A (n, n), which is overwritten.

    Returns:
        W (q, n), and a nonzero number if A + ridge I was not positive definite.
    """
    matrix.diagonal().add_(ridge)
    root, failed = torch.linalg.cholesky_ex(matrix)
    return torch.cholesky_solve(targets.T, root).T, failed


class DenseGram:
    """G <- beta G + X^T X, exactly; p = ``dim``.

    Only the upper triangle of the symmetric G is kept: slabs of ``block`` rows, each starting at its first diagonal
    entry. This halves the memory and the work of updates and products.
    """

    form = "dense"
    error_bound = 0.0

    def __init__(self, dim: int, dtype: torch.dtype, device: torch.device, block: int = 256) -> None:
        self.dim, self._starts = dim, range(0, dim, block)
        self.slabs = [
            torch.zeros(min(block, dim - start), dim - start, dtype=dtype, device=device) for start in self._starts
        ]

    @property
    def nbytes(self) -> int:
        """Bytes allocated."""
        return sum(slab.nbytes for slab in self.slabs)

    def reset(self) -> None:
        """G = 0."""
        for slab in self.slabs:
            slab.zero_()

    def forget(self, beta: float) -> None:
        """G <- beta G."""
        for slab in self.slabs:
            slab.mul_(beta)

    def add(self, inputs: Tensor) -> None:
        """G <- G + X^T X for X (b, p)."""
        for start, slab in zip(self._starts, self.slabs, strict=True):
            slab.addmm_(inputs[:, start : start + len(slab)].T, inputs[:, start:])

    def product(self, rows: Tensor) -> Tensor:
        """rows G for rows (m, p)."""
        out = torch.zeros_like(rows)
        for start, slab in zip(self._starts, self.slabs, strict=True):
            middle = start + len(slab)
            here, right = rows[:, start:middle], slab[:, len(slab) :]
            if len(rows) == 1:  # a matrix-vector product is faster than a one-row matrix product
                out[0, start:middle].addmv_(slab, rows[0, start:])
                out[0, middle:].addmv_(right.T, here[0])
            else:
                out[:, start:middle].addmm_(rows[:, start:], slab.T)
                out[:, middle:].addmm_(here, right)
        return out

    def dense(self, dtype: torch.dtype) -> Tensor:
        """G as a new (p, p) tensor."""
        whole = torch.empty(self.dim, self.dim, dtype=dtype, device=self.slabs[0].device)
        for start, slab in zip(self._starts, self.slabs, strict=True):
            here = slice(start, start + len(slab))
            whole[here, start:] = slab
            whole[start:, here] = slab.T
        return whole

    def solve(self, targets: Tensor, ridge: float) -> tuple[Tensor, Tensor]:
        """Solve W (G + ridge I) = Z for W (q, p) by a Cholesky decomposition; see :func:`solve_positive`."""
        return solve_positive(self.dense(targets.dtype), targets, ridge)

    def to(self, device: torch.device, dtype: torch.dtype) -> None:
        """Moves to a device and a dtype."""
        self.slabs = [slab.to(device=device, dtype=dtype) for slab in self.slabs]

    def state(self) -> dict[str, Any]:
        """Tensors that restore G."""
        return {"slabs": [slab.clone() for slab in self.slabs]}

    def load(self, state: dict[str, Any]) -> None:
        """Restores :meth:`state`."""
        if [tuple(slab.shape) for slab in state["slabs"]] != [tuple(slab.shape) for slab in self.slabs]:
            raise StateMismatchError("state was saved with another layout of Phi")
        for mine, saved in zip(self.slabs, state["slabs"], strict=True):
            mine.copy_(saved)
