"""A small symmetric positive definite matrix that no rounding can make indefinite: it is kept as S = T T^T."""
from __future__ import annotations

import copy
import math

import torch
from torch import Tensor

_SMALL = 64  # up to this size S is computed from T at every update


class SquareRootCore:
    """S (r, r), the inverse of beta-weighted sums of h h^T, as S = T T^T with Potter's update of T."""

    def __init__(self, dtype: torch.dtype, device: torch.device) -> None:
        self.size = 0
        self._root = torch.zeros(0, 0, dtype=dtype, device=device)
        self._inverse = torch.zeros(0, 0, dtype=dtype, device=device)
        self._updates_since_formed = 0

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
        """Bytes held, reserve included."""
        return self._root.nbytes + self._inverse.nbytes

    def snapshot(self) -> SquareRootCore:
        """S of this moment, in memory of its own."""
        taken = copy.copy(self)
        taken._root, taken._inverse = self._root.clone(), self._inverse.clone()
        return taken

    def grow(self, count: int, alpha: float, capacity: int) -> None:
        """Add directions that no input has touched: S becomes blockdiag(S, alpha I)."""
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
        """Keep only these directions; the others must be untouched by inputs, that is coupled to nothing."""
        self._root = self.root[index][:, index]
        self._inverse = self.inverse[index][:, index]
        self.size = len(self._root)

    def largest(self, count: int) -> tuple[Tensor, Tensor]:
        """The largest eigenvalues of S, ascending (count,), and their eigenvectors (r, count)."""
        values, vectors = torch.linalg.eigh(self.root @ self.root.T)
        return values[-count:], vectors[:, -count:]

    def reflect(self, normals: Tensor, weights: Tensor, rows: int) -> None:
        """S becomes the first rows and columns of H S H with H = I - Y K Y^T; T is made square again without it."""
        turned = torch.addmm(self.root[:rows], normals[:rows] @ weights, normals.T @ self.root, alpha=-1)  # (rows, r)
        for kept in (self._root, self._inverse):
            kept.zero_()
        self.size = rows
        self._set(torch.linalg.qr(turned.T, mode="r").R.T)

    def lower(self, amount: float) -> None:
        """S^-1 <- S^-1 - amount I, for less than the smallest eigenvalue of S^-1.

        With I - amount T^T T = L L^T, T <- T L^-T; the smaller part of an eigenvalue is taken, the better conditioned.
        """
        root = self.root
        gram = torch.addmm(torch.eye(self.size, dtype=root.dtype, device=root.device), root.T, root, alpha=-amount)
        triangle = torch.linalg.cholesky(gram)
        self._set(torch.linalg.solve_triangular(triangle.T, root, upper=True, left=False))

    def _set(self, root: Tensor) -> None:
        self.root.copy_(root)
        self.inverse.copy_(root @ root.T)
        self._updates_since_formed = 0

    def gains(self, h: Tensor, beta: float) -> Tensor:
        """(b, r), H S of the S that ``update(h, beta)`` will leave."""
        sh = h @ self.inverse
        system = sh @ h.T  # (b, b)
        system.diagonal().add_(beta)
        return sh / system if len(h) == 1 else torch.linalg.solve(system, sh)

    def update(self, h: Tensor, beta: float) -> None:
        """S <- (beta S^-1 + H^T H)^-1 for H (b, r): T <- T (I + F F^T / beta)^(-1/2) / sqrt(beta) with F = T^T H^T.

        For one row this is Potter's formula. For more, F^T F = V diag(s) V^T turns it into b independent ones.
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
        self._updates_since_formed += 1
        if self.size <= _SMALL or self._updates_since_formed >= self.size:  # ends S's drift; O(r^2) per update
            inverse.copy_(root @ root.T)
            self._updates_since_formed = 0
        else:
            scaled = sh / torch.sqrt(total)
            inverse.addmm_(scaled, scaled.T, alpha=-1)
        if beta != 1.0:
            root.div_(math.sqrt(beta))
            inverse.div_(beta)

    def in_whole_space(self, q: Tensor, alpha: float) -> SquareRootCore:
        """alpha I - Q^T (alpha I - S) Q for orthonormal rows Q (r, p): a root is sqrt(alpha) (I - Q^T Q) + Q^T T Q."""
        root = q.T @ (self.root @ q)
        if len(q) < q.shape[1]:
            free = -(q.T @ q)
            free.diagonal().add_(1.0)
            root.add_(free, alpha=math.sqrt(alpha))
        return SquareRootCore.from_root(root)

    def to(self, device: torch.device, dtype: torch.dtype) -> SquareRootCore:
        """The same core elsewhere."""
        return SquareRootCore.from_root(self.root.to(device).to(dtype))
