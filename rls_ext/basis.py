"""An orthonormal basis that grows a row at a time, kept more exactly than the float32 it is read in."""
from __future__ import annotations

import torch
from torch import Tensor

_LOW_SCALE = 2.0**-24  # remainders of float32 rows are at most this, so divided by it they suit float16
_ROWS_AT_A_TIME = 64  # rows widened to float64 at once
_GROWTH = 20  # rows by which a small basis grows


class OrthonormalBasis:
    """Q (r, p) with orthonormal rows.

    Below float64 each row is a float32 row plus a float16 remainder (about 35 bits together). Products with gradients
    read only the float32 part. Splitting a new input uses both: with 24 bits alone the rounding of the first of two
    nearly equal inputs would be taken for a part of their difference.
    """

    def __init__(self, dim: int, dtype: torch.dtype, core: torch.dtype, device: torch.device) -> None:
        """core: the precision in which inputs are split."""
        self.dim, self.core, self.rows = dim, core, 0
        self.stored = torch.float64 if dtype == torch.float64 else torch.float32
        self._high = torch.zeros(0, dim, dtype=self.stored, device=device)
        self._low = None
        if self.stored == torch.float32:
            self._low = torch.zeros(0, dim, dtype=torch.float16, device=device)

    @property
    def floor(self) -> float:
        """|d| / |x| below which the rest d of a split input x is nothing but rounding of the stored rows."""
        return 4e-15 if self._low is None else 1e-10

    @property
    def nbytes(self) -> int:
        """Bytes held, reserve included."""
        return self._high.nbytes + (0 if self._low is None else self._low.nbytes)

    @property
    def capacity(self) -> int:
        """Rows there is room for."""
        return len(self._high)

    @property
    def matrix(self) -> Tensor:
        """Q as it is multiplied with gradients, (r, p)."""
        return self._high[: self.rows]

    def exact(self) -> Tensor:
        """Q in the core's precision, (r, p)."""
        wide = self.matrix.to(self.core)
        return wide if self._low is None else wide.add_(self._low[: self.rows].to(self.core), alpha=_LOW_SCALE)

    def split(self, block: Tensor) -> tuple[Tensor, Tensor]:
        """X = H Q + D with D orthogonal to Q: H (b, r) and D (b, p), both in the core's precision.

        Only D needs full precision: any H near X Q^T makes X = H Q + D exact, and the second round moves to H what the
        first left of Q in D.
        """
        rest = block.to(self.core)  # (b, p)
        if self.rows == 0:
            return rest.new_zeros(len(block), 0), rest
        first = block.to(self.stored) @ self.matrix.T  # (b, r)
        rest = self._minus_product(rest, first)
        second = self._project(rest.to(self.stored))
        rest = rest - (second @ self.matrix).to(self.core)
        return first.to(self.core) + second.to(self.core), rest

    def _project(self, block: Tensor) -> Tensor:  # (b, r)
        product = block @ self.matrix.T
        for part in self._parts() if self._low is not None else ():
            product[:, part] += block @ self._low[part].float().T * _LOW_SCALE
        return product

    def _parts(self) -> list[slice]:
        return [slice(start, min(start + _ROWS_AT_A_TIME, self.rows)) for start in range(0, self.rows, _ROWS_AT_A_TIME)]

    def _minus_product(self, rest: Tensor, weights: Tensor) -> Tensor:
        if self._low is None:
            return rest - weights @ self.matrix
        rest, wide = rest.clone(), weights.to(self.core)
        for part in self._parts():
            rest.addmm_(wide[:, part], self._high[part].to(self.core), alpha=-1)
            rest.sub_(weights[:, part] @ self._low[part].float(), alpha=_LOW_SCALE)
        return rest

    def append(self, directions: Tensor) -> None:
        """Add orthonormal rows (k, p), orthogonal to those present, given in the core's precision."""
        start, stop = self.rows, self.rows + len(directions)
        if stop > len(self._high):
            self._reserve(max(stop, len(self._high) + max(_GROWTH, len(self._high) // 8)))
        self._high[start:stop] = directions
        if self._low is not None:
            self._low[start:stop] = (directions - self._high[start:stop].to(self.core)) / _LOW_SCALE
        self.rows = stop

    def keep(self, index: Tensor) -> None:
        """Keep only the rows at these positions."""
        self._high = self._high[index]
        self._low = None if self._low is None else self._low[index]
        self.rows = len(self._high)

    def _reserve(self, capacity: int) -> None:
        grown = self._high.new_zeros(capacity, self.dim)
        grown[: self.rows] = self.matrix
        if self._low is not None:
            low = self._low.new_zeros(capacity, self.dim)
            low[: self.rows] = self._low[: self.rows]
            self._low = low
        self._high = grown

    def to(self, device: torch.device, dtype: torch.dtype, core: torch.dtype) -> OrthonormalBasis:
        """The same basis elsewhere or in another precision."""
        moved = OrthonormalBasis(self.dim, dtype, core, device)
        moved.append(self.exact().to(device).to(core))
        return moved
