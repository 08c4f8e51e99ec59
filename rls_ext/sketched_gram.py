"""Weighted sums of X^T X in bounded memory: robust frequent directions (Ghashami et al., 2016; Luo et al., 2019).

G is approximated by ``B^T B + shift I`` with few rows B. New inputs are appended to B. When B is full, every squared
singular value of B is lowered by the (rank + 1)-th one, eps, which leaves ``rank`` rows. B^T B thereby loses a matrix
between 0 and eps I. Compensating by eps / 2 I leaves an error of at most eps / 2 in every direction. The errors of all
such steps add up, and fade with beta as G itself does, so

    |G - (B^T B + shift I)| <= error_bound = shift = sum of eps_i beta^(steps since) / 2.

For beta = 1 this is at most ``|A - A_k|_F^2 / (2 (rank - k))`` for every k < rank, with A all inputs seen and A_k their
best approximation of rank k. So the bound is small if the spectrum of G decays.
"""
from typing import Any

import torch
from torch import Tensor

from .errors import HyperparameterError, StateMismatchError
from .gram import solve_positive

_COLUMNS = 1024  # columns of B changed at a time, so that shrinking takes little extra memory


class SketchedGram:
    """G <- beta G + X^T X to within :attr:`error_bound`; B takes at most ``memory_budget`` bytes."""

    form = "sketched"

    def __init__(self, dim: int, dtype: torch.dtype, device: torch.device, memory_budget: int) -> None:
        capacity = min(memory_budget // (dim * dtype.itemsize), 2 * dim)
        if capacity < 2:
            needed = 2 * dim * dtype.itemsize
            raise HyperparameterError(f"memory_budget must be at least {needed} bytes (two rows), got {memory_budget}")
        self.dim, self.rank, self.count = dim, capacity // 2, 0
        self._rows = torch.zeros(capacity, dim, dtype=dtype, device=device)
        self.shift = 0.0

    @property
    def error_bound(self) -> float:
        """Largest possible error of an eigenvalue of G, rounding aside."""
        return self.shift

    @property
    def nbytes(self) -> int:
        """Bytes allocated."""
        return self._rows.nbytes

    @property
    def rows(self) -> Tensor:
        """B (count, p)."""
        return self._rows[: self.count]

    def reset(self) -> None:
        """G = 0."""
        self.count, self.shift = 0, 0.0

    def forget(self, beta: float) -> None:
        """G <- beta G."""
        self.rows.mul_(beta**0.5)
        self.shift *= beta

    def add(self, inputs: Tensor) -> None:
        """G <- G + X^T X for X (b, p)."""
        step = len(self._rows) - self.rank
        for block in inputs.split(step):
            if self.count + len(block) > len(self._rows):
                self._shrink()
            self._rows[self.count : self.count + len(block)] = block
            self.count += len(block)

    def _shrink(self) -> None:
        """Lower the squared singular values of B by the (rank + 1)-th, and drop the rows that become zero."""
        wide = torch.float32 if self._rows.device.type == "mps" else torch.float64
        values, vectors = torch.linalg.eigh((self.rows @ self.rows.T).to(wide))  # ascending
        lowered = values[-self.rank - 1].clamp(min=0) if self.count > self.rank else values.new_zeros(())
        values, vectors = values[-self.rank :], vectors[:, -self.rank :]
        kept = torch.where(values > lowered, (1 - lowered / values.clamp(min=1e-300)).clamp(min=0).sqrt(), 0)
        turn = (vectors * kept).T.to(self._rows.dtype)  # (rank, count)
        for columns in self.rows.split(_COLUMNS, dim=1):
            columns[: len(turn)] = turn @ columns
        self.count = len(turn)
        self.shift += float(lowered) / 2

    def product(self, rows: Tensor) -> Tensor:
        """rows G for rows (m, p)."""
        if len(rows) == 1:  # a matrix-vector product is faster than a one-row matrix product
            return (self.rows.T @ (self.rows @ rows[0]))[None] + self.shift * rows
        return (rows @ self.rows.T) @ self.rows + self.shift * rows

    def dense(self, dtype: torch.dtype) -> Tensor:
        """G as a new (p, p) tensor."""
        rows = self.rows.to(dtype)
        matrix = rows.T @ rows
        matrix.diagonal().add_(self.shift)
        return matrix

    def solve(self, targets: Tensor, ridge: float) -> tuple[Tensor, Tensor]:
        """Solve W (G + ridge I) = Z for W (q, p), in Z's precision; see :func:`solve_positive`.

        With c = shift + ridge, W = (Z - Z B^T (c I + B B^T)^-1 B) / c is a system of the size of B's few rows. If B has
        at least p rows, and c may be close to zero, the system of the whole matrix is smaller and safer.
        """
        if self.count >= self.dim:
            return solve_positive(self.dense(targets.dtype), targets, ridge)
        rows, c = self.rows.to(targets.dtype), self.shift + ridge
        if not c > 0:
            return targets, torch.ones((), dtype=torch.int32)
        found, failed = solve_positive(rows @ rows.T, targets @ rows.T, c)
        return (targets - found @ rows) / c, failed

    def to(self, device: torch.device, dtype: torch.dtype) -> None:
        """Moves to a device and a dtype."""
        self._rows = self._rows.to(device=device, dtype=dtype)

    def state(self) -> dict[str, Any]:
        """Tensors and numbers that restore the sketch."""
        return {"rows": self.rows.clone(), "shift": self.shift}

    def load(self, state: dict[str, Any]) -> None:
        """Restores :meth:`state`."""
        rows = state["rows"]
        if len(rows) > len(self._rows):
            raise StateMismatchError(f"state has {len(rows)} rows, but memory_budget has room for {len(self._rows)}")
        self.count, self.shift = len(rows), float(state["shift"])
        self.rows.copy_(rows)
