"""A small symmetric positive definite matrix, kept as S = T T^T so that rounding cannot make it indefinite."""
from __future__ import annotations

import copy
import math

import torch
from torch import Tensor

_SMALL = 64  # up to this size, S is recomputed from T at every update


class SquareRootCore:
    """S (r, r) = T T^T, the inverse of beta-weighted sums of h h^T; T follows Potter's update."""

    def __init__(self, dtype: torch.dtype, device: torch.device) -> None:
        self.size = 0
        self._root = torch.zeros(0, 0, dtype=dtype, device=device)
        self._inverse = torch.zeros(0, 0, dtype=dtype, device=device)
        self._updates_since_computed = 0

    @classmethod
    def from_root(cls, root: Tensor) -> SquareRootCore:
        """S = T T^T for a given T."""
        core = cls(root.dtype, root.device)
        core.size, core._root, core._inverse = len(root), root, root @ root.T
        return core

    @property
    def root(self) -> Tensor:
        """T, (r, r)."""
        return self._root[: self.size, : self.size]

    @property
    def inverse(self) -> Tensor:
        """S, (r, r)."""
        return self._inverse[: self.size, : self.size]

    @property
    def nbytes(self) -> int:
        """Bytes allocated, spare rows included."""
        return self._root.nbytes + self._inverse.nbytes

    def snapshot(self) -> SquareRootCore:
        """A copy of the present S."""
        taken = copy.copy(self)
        taken._root, taken._inverse = self._root.clone(), self._inverse.clone()
        return taken

    def grow(self, count: int, alpha: float, capacity: int) -> None:
        """Add directions orthogonal to all inputs: S becomes blockdiag(S, alpha I)."""
        start, stop = self.size, self.size + count
        if stop > len(self._root):
            for name in ("_root", "_inverse"):
                grown = self._root.new_zeros(capacity, capacity)
                grown[:start, :start] = getattr(self, name)[:start, :start]
                setattr(self, name, grown)
        self._root.diagonal()[start:stop] = math.sqrt(alpha)
        self._inverse.diagonal()[start:stop] = alpha
        self.size = stop

    def keep(self, index: Tensor) -> None:
        """Keep only these directions; the others must be orthogonal to all inputs, so that S does not couple them."""
        self._root = self.root[index][:, index]
        self._inverse = self.inverse[index][:, index]
        self.size = len(self._root)

    def largest(self, count: int) -> tuple[Tensor, Tensor]:
        """The ``count`` largest eigenvalues of S, ascending, (count,), and their eigenvectors (r, count)."""
        values, vectors = torch.linalg.eigh(self.root @ self.root.T)
        return values[-count:], vectors[:, -count:]

    def reflect(self, normals: Tensor, weights: Tensor, rows: int) -> None:
        """Replace S by the leading (rows, rows) block of H S H, H = I - Y K Y^T; a QR makes its root square again."""
        reflected = torch.addmm(self.root[:rows], normals[:rows] @ weights, normals.T @ self.root, alpha=-1)
        for matrix in (self._root, self._inverse):
            matrix.zero_()
        self.size = rows
        self._set(torch.linalg.qr(reflected.T, mode="r").R.T)  # reflected is (rows, r)

    def lower(self, amount: float) -> None:
        """S^-1 <- S^-1 - amount I; ``amount`` must be less than the smallest eigenvalue of S^-1.

        T <- T L^-T with I - amount T^T T = L L^T. The smaller ``amount`` is in units of that eigenvalue, the better
        conditioned this is.
        """
        root = self.root
        gram = torch.addmm(torch.eye(self.size, dtype=root.dtype, device=root.device), root.T, root, alpha=-amount)
        triangle = torch.linalg.cholesky(gram)
        self._set(torch.linalg.solve_triangular(triangle.T, root, upper=True, left=False))

    def _set(self, root: Tensor) -> None:
        self.root.copy_(root)
        self.inverse.copy_(root @ root.T)
        self._updates_since_computed = 0

    def gains(self, h: Tensor, beta: float) -> Tensor:
        """H S (b, r) for the S after ``update(h, beta)``."""
        sh = h @ self.inverse
        system = sh @ h.T  # (b, b)
        system.diagonal().add_(beta)
        return sh / system if len(h) == 1 else torch.linalg.solve(system, sh)

    def update(self, h: Tensor, beta: float) -> None:
        """S <- (beta S^-1 + H^T H)^-1 for H (b, r): T <- T (I + F F^T / beta)^(-1/2) / sqrt(beta) with F = T^T H^T.

        For one row this is Potter's formula. For more rows, F^T F = V diag(s) V^T splits it into b independent ones.
        """
        root, inverse = self.root, self.inverse
        f = root.T @ h.T  # (r, b)
        sh = root @ f  # (r, b) = S H^T
        squares = (f * f).sum().reshape(1)
        if len(h) > 1:
            squares, turns = torch.linalg.eigh(f.T @ f)
            f, sh = f @ turns, sh @ turns
        total = beta + squares.clamp_min(0)  # (b,)
        root.addmm_(sh / (total + torch.sqrt(beta * total)), f.T, alpha=-1)
        self._updates_since_computed += 1
        if self.size <= _SMALL or self._updates_since_computed >= self.size:  # stops S's drift at O(r^2) per update
            inverse.copy_(root @ root.T)
            self._updates_since_computed = 0
        else:
            scaled = sh / torch.sqrt(total)
            inverse.addmm_(scaled, scaled.T, alpha=-1)
        if beta != 1.0:
            root.div_(math.sqrt(beta))
            inverse.div_(beta)

    def in_whole_space(self, q: Tensor, alpha: float) -> SquareRootCore:
        """alpha I - Q^T (alpha I - S) Q for orthonormal Q (r, p), by the root sqrt(alpha) (I - Q^T Q) + Q^T T Q."""
        root = q.T @ (self.root @ q)
        if len(q) < q.shape[1]:
            free = -(q.T @ q)
            free.diagonal().add_(1.0)
            root.add_(free, alpha=math.sqrt(alpha))
        return SquareRootCore.from_root(root)

    def to(self, device: torch.device, dtype: torch.dtype) -> SquareRootCore:
        """The same core on another device or in another precision."""
        return SquareRootCore.from_root(self.root.to(device).to(dtype))
