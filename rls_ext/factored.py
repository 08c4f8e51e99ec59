"""P as a multiple of the identity plus a low-rank term: exact, small and always positive definite.

With sigma = delta beta^n, Phi_n = sigma I + (sum of beta^(n-i) x_i x_i^T) differs from sigma I only on the span of the
inputs seen. With Q (r, p) an orthonormal basis of that span, as rows, and S the inverse of Phi_n on it,

    P_n = (I - Q^T Q) / sigma + Q^T S Q = alpha I - Q^T (alpha I - S) Q,      alpha = 1 / sigma.

A new input x = Q^T h + d, d orthogonal to Q, adds the row d/|d| to Q unless d is negligible; then
Phi <- beta Phi + x x^T is a rank-one change of S alone. docs/rls.md has the derivation. Under a memory budget, the
directions in which P differs least from alpha I are given up when rows run out; see ``truncation.py``.
"""
from __future__ import annotations

import copy
import math
from typing import Any

import torch
from torch import Tensor

from . import devices
from .basis import OrthonormalBasis, PFactors, principal_directions
from .errors import ForgettingOverflowError, StateMismatchError
from .products import product
from .square_root import SquareRootCore
from .truncation import ErrorBound, rank_within, slack_of, truncate


class FactoredInverse:
    """P_n as the basis Q and the core S = T T^T of the module's docstring; S is float64 (float32 on MPS)."""

    kind = "factored"

    def __init__(
        self,
        dim: int,
        delta: float,
        beta: float,
        dtype: torch.dtype,
        device: torch.device,
        *,
        rank_tol: float | None = None,
        whole_from: int | None = None,
        memory_budget: int | None = None,
        when_full: str = "shift",
    ) -> None:
        """See ``InverseCorrelation``. whole_from: at this rank (default: p), Q is replaced by I, the whole space."""
        self.dim, self.delta, self.beta, self.dtype = dim, delta, beta, dtype
        self.rank_tol = (1e-14 if dtype == torch.float64 else 1e-7) if rank_tol is None else rank_tol
        self.whole_from = dim if whole_from is None else min(whole_from, dim)
        self.memory_budget, self.when_full, self.truncations = memory_budget, when_full, 0
        self._set_device(device)
        self.reset()

    def _set_device(self, device: torch.device) -> None:
        self.device = device
        self._core_dtype = torch.float32 if device.type == "mps" else torch.float64
        self.max_rank = self.dim
        if self.memory_budget is not None:
            self.max_rank = rank_within(self.memory_budget, self.dim, self.dtype, self._core_dtype)

    def reset(self) -> None:
        """Start again from P_0 = I/delta."""
        self._log_sigma = math.log(self.delta)
        self._basis: OrthonormalBasis | None = OrthonormalBasis(
            self.dim, self.dtype, self._core_dtype, self.device, self.max_rank
        )
        self._core = SquareRootCore(self._core_dtype, self.device)
        self._middle: Tensor | None = None  # alpha I - S (S if Q = I), in ``product_dtype``
        self.bound = ErrorBound()

    @property
    def _alpha(self) -> float:
        return math.exp(-self._log_sigma)

    @property
    def _may_look(self) -> bool:
        """Whether an update may check values; otherwise negligible rows are stored as zeros until memory runs out."""
        return devices.may_look(self.device)

    @property
    def rank(self) -> int:
        """Dimension of the span of the inputs seen (on an accelerator, reading it waits for the device)."""
        self._remove_zero_rows()
        return self._core.size

    @property
    def rows(self) -> int:
        """Rows of Q in use, at least the rank; known without waiting for the device."""
        return self._core.size

    @property
    def nbytes(self) -> int:
        """Bytes allocated, spare rows included."""
        basis = 0 if self._basis is None else self._basis.nbytes
        return basis + self._core.nbytes + (0 if self._middle is None else self._middle.nbytes)

    @property
    def product_dtype(self) -> torch.dtype:
        """Type in which gradients are multiplied."""
        return torch.float64 if self.dtype == torch.float64 else torch.float32

    @property
    def works_in_place(self) -> bool:
        """Whether ``out`` of ``precondition`` may be the gradient itself."""
        return self._basis is not None

    @property
    def row_cost(self) -> int:
        """Multiplications per row of a gradient."""
        return self.rows**2 + (0 if self._basis is None else 2 * self.rows * self.dim)

    def update(self, block: Tensor) -> None:
        """Phi <- beta Phi + X^T X for a block (b, p), as one forgetting step; a budget may split the block."""
        self._refuse_overflow()
        step = len(block) if self.max_rank == self.dim else slack_of(self.max_rank, self.when_full)
        for start in range(0, len(block), step):
            self._update_part(block[start : start + step], 1.0 if start else self.beta)

    def _update_part(self, block: Tensor, beta: float) -> None:
        coordinates = block.to(self._core_dtype) if self._basis is None else self._extend_basis(block, beta)
        self._core.update(coordinates, beta)
        self._log_sigma, self._middle = self._log_sigma + math.log(beta), None
        if self._basis is not None and self.max_rank == self.dim and self.rows >= self.whole_from:
            self._remove_zero_rows()
            if self.rows >= self.whole_from:
                self._core = self._core.in_whole_space(self._basis.exact(), self._alpha)
                self._basis = None  # Q = I

    def _extend_basis(self, block: Tensor, beta: float) -> Tensor:
        """Add the new directions of a block (b, p) to Q; returns the block's coordinates in Q, (b, r)."""
        assert self._basis is not None
        h, directions, parts = self._split(block, beta)
        if self.rows + len(directions) > self._basis.capacity and self._make_room(len(directions)):
            h, directions, parts = self._split(block, beta)  # the basis has changed
        if not len(directions):
            return h
        self._basis.append(directions)
        self._core.grow(len(directions), self._alpha, self._basis.capacity)
        return torch.cat((h, parts), dim=1)

    def _split(self, block: Tensor, beta: float) -> tuple[Tensor, Tensor, Tensor]:
        """X = H Q + parts directions: H (b, r), new orthonormal rows (k, p), and the coordinates in them (b, k)."""
        assert self._basis is not None
        h, rest, sizes = self._basis.split(block)  # (b, r), (b, p), (b,)
        directions, lengths, mixing = principal_directions(rest)
        parts = mixing * lengths
        change = self._change_if_dropped(lengths, mixing, h, beta)  # (k,)
        kept = (change > self.rank_tol) & (lengths > self._basis.floor * sizes.max())
        if self._may_look and bool(kept.all()):  # the usual case, without copying
            return h, directions, parts
        if self.memory_budget is not None:
            self.bound.left_out = self.bound.left_out + torch.where(kept, 0.0, change).sum()
        if self._may_look:
            return h, directions[kept], parts[:, kept]
        return h, torch.where(kept[:, None], directions, 0), torch.where(kept, parts, 0)

    def _change_if_dropped(self, lengths: Tensor, mixing: Tensor, h: Tensor, beta: float) -> Tensor:
        """Bound of the change of P, relative to |P| = alpha, if directions of these lengths l are dropped, (k,).

        For this update the change is at most 2 l |S_n h| + alpha l^2; if the second term alone suffices to keep all
        directions, only that is returned. Under a budget the bound is one that later updates cannot increase, so that
        the bounds of all updates may be added up.
        """
        alpha = self._alpha / beta
        if self.memory_budget is not None:
            return ErrorBound.of_leaving_out(lengths, alpha)
        change = alpha * lengths**2
        if h.shape[1] == 0 or (self._may_look and bool((change > self.rank_tol).all())):
            return change
        gains: Tensor = torch.linalg.vector_norm(mixing.T @ self._core.gains(h, beta), dim=1)
        return change + 2 * lengths * gains

    def _make_room(self, count: int) -> bool:
        """Remove rows so that ``count`` more fit; returns whether the basis has changed."""
        before = self.rows
        self._remove_zero_rows()
        if self.rows + count > self.max_rank:
            self._truncate(self.max_rank - max(count, slack_of(self.max_rank, self.when_full)))
        return self.rows != before

    def _truncate(self, rows: int) -> None:
        """Keep the ``rows`` directions in which P differs most from alpha I; see ``truncation.py``."""
        assert self._basis is not None
        sigma = truncate(self._basis, self._core, rows, math.exp(self._log_sigma), self.bound, self.when_full)
        self._log_sigma, self._middle = math.log(sigma), None
        self.truncations += 1

    def _refuse_overflow(self) -> None:
        largest = -self._log_sigma  # logarithm of P's largest entry
        if self._basis is None:
            if self.beta == 1.0 or not self._may_look:
                return
            largest = math.log(float(self._core.inverse.diagonal().max()))
        if largest - math.log(self.beta) >= math.log(torch.finfo(self.dtype).max) - 1.0:
            raise ForgettingOverflowError(self.dtype, self.beta)

    def _remove_zero_rows(self) -> None:
        if self._may_look or self._basis is None or self.rows == 0:
            return
        used = self._basis.matrix.any(dim=1).nonzero().flatten()
        if len(used) < self.rows:
            self._basis.keep(used)
            self._core.keep(used)
            self._middle = None

    def factors(self) -> PFactors | None:
        """The factors of P; None once Q = I."""
        if self._basis is None:
            return None
        q = self._basis.matrix
        return PFactors(self._alpha, q, self._core.inverse.to(q.dtype))

    def only_appends(self, count: int) -> bool:
        """Whether ``count`` more rows can be appended to Q without changing the rows it has."""
        return self._basis is not None and self._may_look and self.rows + count < min(self.max_rank, self.whole_from)

    def snapshot(self) -> FactoredInverse:
        """A copy of the present P; it shares Q's rows, which are never overwritten."""
        taken = copy.copy(self)
        taken._basis = None if self._basis is None else self._basis.snapshot()
        taken._core, taken.bound = self._core.snapshot(), copy.copy(self.bound)
        return taken

    def gain(self, x: Tensor) -> Tensor:
        """k_n of Eq. kn for x (p,), in the core's precision."""
        if self._basis is None:
            return self._core.gains(x.to(self._core_dtype).unsqueeze(0), self.beta)[0]
        h, rest, size = self._basis.split(x.unsqueeze(0))
        new = torch.linalg.vector_norm(rest) > self._basis.floor * size
        rest = torch.where(new, rest, 0)  # alpha may be huge: it must not amplify rounding errors
        sh = h @ self._core.inverse
        quadratic = (sh * h).sum() + self._alpha * (rest * rest).sum()
        return ((rest * self._alpha + sh @ self._basis.exact()) / (self.beta + quadratic))[0]

    def precondition(self, gradient: Tensor, out: Tensor | None = None) -> Tensor:
        """g P for g (m, p) of ``product_dtype``; the result may be written to ``out`` (m, p) of that dtype."""
        if self._core.size == 0:
            return torch.mul(gradient, self._alpha, out=out)
        middle = self._middle if self._middle is not None else self._make_middle()
        if self._basis is None:
            return product(gradient, middle)
        q = self._basis.matrix
        if len(gradient) == 1:
            row = gradient[0]
            return torch.addmv(row, q.T, middle @ (q @ row), beta=self._alpha, alpha=-1).unsqueeze(0)
        return torch.addmm(gradient, (gradient @ q.T) @ middle, q, beta=self._alpha, alpha=-1, out=out)

    def _make_middle(self) -> Tensor:
        inverse = self._core.inverse
        self._middle = (inverse if self._basis is None else -inverse).to(self.product_dtype)
        if self._basis is not None:
            self._middle.diagonal().copy_(self._alpha - inverse.diagonal())
        return self._middle

    def dense(self) -> Tensor:
        """P as a (p, p) matrix; up to p = 2048 it is computed in the core's precision."""
        if self._basis is None:
            return self._core.inverse.to(self.dtype, copy=True)
        q = self._basis.exact() if self.dim <= 2048 or self.dtype == torch.float64 else self._basis.matrix
        return PFactors(self._alpha, q, self._core.inverse.to(q.dtype)).dense().to(self.dtype)

    def state(self) -> dict[str, Any]:
        """Tensors and numbers that restore this form."""
        self._remove_zero_rows()
        basis, root = None if self._basis is None else self._basis.exact(), self._core.root.clone()
        return {"basis": basis, "root": root, "log_sigma": self._log_sigma, "bound": self.bound.state()}

    def load(self, state: dict[str, Any]) -> None:
        """Restore from ``state()``."""
        rows = len(state["root"])
        if rows > self.max_rank:
            raise StateMismatchError(
                f"state has rank {rows}, but memory_budget={self.memory_budget} has room for {self.max_rank}: "
                "load it without a budget or with a larger one"
            )
        self.reset()
        if state["basis"] is None:
            self._basis = None
        else:
            assert self._basis is not None
            self._basis.append(state["basis"].to(device=self.device, dtype=self._core_dtype))
        self._core = SquareRootCore.from_root(state["root"].to(device=self.device, dtype=self._core_dtype, copy=True))
        self._log_sigma = float(state["log_sigma"])
        self.bound = ErrorBound(**state.get("bound", {}))

    def to(self, device: torch.device, dtype: torch.dtype) -> None:
        """Move to a device and a dtype."""
        self._remove_zero_rows()
        self.dtype, self._middle = dtype, None
        self._set_device(device)
        if self.rows > self.max_rank:  # fewer rows of a wider type fit the budget
            self._truncate(self.max_rank)
        self.bound.left_out = float(self.bound.left_out)
        self._core = self._core.to(device, self._core_dtype)
        if self._basis is not None:
            self._basis = self._basis.to(device, dtype, self._core_dtype, self.max_rank)
