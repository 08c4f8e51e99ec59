"""An orthonormal basis that grows row by row, stored more precisely than the float32 it is read in."""
from __future__ import annotations

import copy
import threading
from dataclasses import dataclass

import torch
from torch import Tensor

SMALL_DIM = 1024  # longest input for which arithmetic on full p x p matrices is cheap
_LOW_SCALE = 2.0**-24  # float32 remainders are at most this; divided by it they fit float16
_WIDENED_ENTRIES = 2**18  # entries of Q converted to the core's precision at a time: 2 MiB fit in the CPU's cache
_GROWTH = 20  # rows by which a small basis grows
_LINE = 64  # bytes of a cache line
_buffers = threading.local()  # allocating a large block per update would cost more than the arithmetic in it


def aligned_length(columns: int, dtype: torch.dtype) -> int:
    """``columns`` rounded up to a whole number of cache lines.

    Matrix products with rows of odd length (a bias!) take up to 1.6 times as long.
    """
    entries = _LINE // dtype.itemsize
    return -(-columns // entries) * entries


def _buffer(rows: int, dim: int, dtype: torch.dtype) -> Tensor:
    """This thread's CPU scratch memory as (rows, dim); every call reuses it."""
    size = rows * dim * dtype.itemsize
    memory = getattr(_buffers, "memory", None)
    if memory is None or memory.numel() < size:
        memory = _buffers.memory = torch.empty(size, dtype=torch.uint8)
    return memory[:size].view(dtype).view(rows, dim)


@dataclass(frozen=True, slots=True)
class PFactors:
    """P = alpha (I - Q^T Q) + Q^T S Q.

    Attributes:
        alpha: Eigenvalue of P outside the span of the inputs seen.
        basis: Q (r, p), orthonormal rows; later updates may append rows.
        core: S (r, r), symmetric.
    """

    alpha: float
    basis: Tensor
    core: Tensor

    def dense(self) -> Tensor:
        """P as a (p, p) matrix."""
        q = self.basis
        free = torch.eye(len(q), dtype=q.dtype, device=q.device) * self.alpha
        matrix = q.T @ ((self.core - free) @ q)
        matrix.diagonal().add_(self.alpha)
        return (matrix + matrix.T) / 2


class OrthonormalBasis:
    """Q (r, p) with orthonormal rows.

    Below float64 each row is a float32 row plus a float16 remainder (about 35 bits together). Products with gradients
    read only the float32 part. Splitting a new input uses both: with 24 bits alone, the rounding error of the first of
    two nearly equal inputs would be mistaken for part of their difference.
    """

    def __init__(self, dim: int, dtype: torch.dtype, core: torch.dtype, device: torch.device, limit: int) -> None:
        """core: the precision in which inputs are split. limit: the largest number of rows."""
        self.dim, self.core, self.limit, self.rows = dim, core, limit, 0
        self.stored = torch.float64 if dtype == torch.float64 else torch.float32
        self._high = torch.empty(0, dim, dtype=self.stored, device=device)
        self._low = None
        if self.stored == torch.float32:
            self._low = torch.empty(0, dim, dtype=torch.float16, device=device)

    @property
    def floor(self) -> float:
        """|d| / |x| below which the remainder d of a split input x is only rounding error of the stored rows."""
        return 4e-15 if self._low is None else 1e-10

    @property
    def nbytes(self) -> int:
        """Bytes allocated, spare rows included."""
        return self.capacity * bytes_per_row(self.dim, self.stored)

    @property
    def capacity(self) -> int:
        """Rows that fit into the allocated memory."""
        return len(self._high)

    @property
    def matrix(self) -> Tensor:
        """Q (r, p) in the precision used for products with gradients."""
        return self._high[: self.rows]

    def exact(self) -> Tensor:
        """Q in the core's precision, (r, p)."""
        wide = self.matrix.to(self.core)
        return wide if self._low is None else wide.add_(self._low[: self.rows].to(self.core), alpha=_LOW_SCALE)

    def split(self, block: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Split X into H Q + D with D orthogonal to Q.

        One round of block Gram-Schmidt makes D as orthogonal as Q itself, unless D is much smaller than X; then a
        second round follows. (Accelerators always do both: a check would wait for the device.) Long rows are read in
        double precision only once, when H Q is subtracted from X.

        Returns:
            H (b, r), D (b, p) and the lengths of X (b,), in the core's precision.
        """
        rest = block.to(self.core, copy=True)  # (b, p)
        lengths = torch.linalg.vector_norm(rest, dim=1)
        if self.rows == 0:
            return rest.new_zeros(len(block), 0), rest, lengths
        if self._low is not None and self.dim > SMALL_DIM and rest.device.type == "cpu":
            return self._split_long(block, rest, lengths), rest, lengths
        h = rest.new_zeros(len(block), self.rows)
        self._remove(rest, h)
        if rest.device.type != "cpu" or bool((torch.linalg.vector_norm(rest, dim=1) < 0.1 * lengths).any()):
            self._remove(rest, h)
        return h, rest, lengths

    def _split_long(self, block: Tensor, rest: Tensor, lengths: Tensor) -> Tensor:
        """Return H (b, r) and turn ``rest`` from X into D, for rows so long that reading Q dominates the cost.

        X = H Q + D must hold exactly, or strong inputs would leave traces; D needs to be orthogonal to Q only to single
        precision of its own length. So H starts as a single-precision product and H Q is subtracted exactly. The
        remaining component along Q, as small as the rounding error of H, is removed in single precision.
        """
        q = self.matrix
        along = block.float() @ q.T  # (b, r)
        h = along.to(self.core)
        self._subtract(rest, along, h)
        for enough in (0.5, 1e-5):  # |D| / |X| above which that rounding is harmless: before and after one correction
            short = rest.float()
            if bool((torch.linalg.vector_norm(short, dim=1) > enough * lengths).all()):
                break
            along = short @ q.T
            rest.sub_(along @ q)
            h += along
        return h

    def _subtract(self, rest: Tensor, along: Tensor, h: Tensor) -> None:
        """Subtract H Q from ``rest`` in place, in the core's precision; ``along`` is H in single precision."""
        step = max(_WIDENED_ENTRIES // self.dim, 1)
        wide = _buffer(step, self.dim, self.core)
        for coefficients, rows in zip(h.split(step, 1), self.matrix.split(step), strict=True):
            rest.addmm_(coefficients, wide[: len(rows)].copy_(rows), alpha=-1)
        wide = _buffer(2 * step, self.dim, torch.float32)
        low: Tensor | None = None
        assert self._low is not None
        for coefficients, rows in zip(along.split(2 * step, 1), self._low[: self.rows].split(2 * step), strict=True):
            part = coefficients @ wide[: len(rows)].copy_(rows)
            low = part if low is None else low.add_(part)
        assert low is not None
        rest.sub_(low, alpha=_LOW_SCALE)

    def _remove(self, rest: Tensor, h: Tensor) -> None:
        """Move the components of ``rest`` along Q to ``h``, both in place, a few rows of Q at a time."""
        step = max(_WIDENED_ENTRIES // self.dim, 1)
        for start in range(0, self.rows, step):
            part = slice(start, min(start + step, self.rows))
            if self._low is None:
                high = self._high[part]
                along = rest @ high.T  # (b, rows of the part)
            else:
                high, low = self._high[part].to(self.core), self._low[part].float()
                along = rest @ high.T
                along.add_(rest.float() @ low.T, alpha=_LOW_SCALE)
                rest.sub_(along.float() @ low, alpha=_LOW_SCALE)
            rest.addmm_(along, high, alpha=-1)
            h[:, part] += along

    def append(self, directions: Tensor) -> None:
        """Add orthonormal rows (k, p) in the core's precision; they must be orthogonal to the rows present."""
        start, stop = self.rows, self.rows + len(directions)
        if stop > len(self._high):
            self._reserve(max(stop, min(self.limit, start + max(_GROWTH, start // 8))))
        self._store(directions, slice(start, stop), slice(None))
        self.rows = stop

    def keep(self, index: Tensor) -> None:
        """Keep only the rows at these positions. They get new memory because a snapshot may still read the old."""
        rows = self.exact()[index]
        self._renew()
        self._store(rows, slice(0, len(rows)), slice(None))
        self.rows = len(rows)

    def reflect(self, normals: Tensor, weights: Tensor, rows: int) -> None:
        """Replace Q by the first ``rows`` rows of (I - Y K Y^T) Q, computed a few columns at a time.

        The result gets new memory because a snapshot may still read the old.
        """
        projection = normals[:rows] @ weights  # (rows, k)
        old_high, old_low = self._high, self._low
        self._renew()
        step = max(_WIDENED_ENTRIES // max(self.rows, 1), 1)
        for start in range(0, self.dim, step):
            part = slice(start, start + step)
            wide = old_high[: self.rows, part].to(self.core)  # (r, columns)
            if old_low is not None:
                wide = wide.add(old_low[: self.rows, part].to(self.core), alpha=_LOW_SCALE)
            reflected = torch.addmm(wide[:rows], projection, normals.T @ wide, alpha=-1)
            self._store(reflected, slice(0, rows), part)
        self.rows = rows

    def _store(self, values: Tensor, rows: slice, columns: slice) -> None:
        high = self._high[rows, columns]
        high.copy_(values)
        if self._low is not None:
            self._low[rows, columns] = (values - high.to(self.core)) / _LOW_SCALE

    def _reserve(self, capacity: int) -> None:
        high, low, rows = self._high, self._low, self.rows
        self._renew(capacity)
        self._high[:rows] = high[:rows]
        if low is not None and self._low is not None:
            self._low[:rows] = low[:rows]

    def _renew(self, capacity: int | None = None) -> None:
        """Allocate uninitialised memory, by default with the same capacity."""
        capacity = self.capacity if capacity is None else capacity
        self._high = self._high.new_empty(capacity, aligned_length(self.dim, self.stored))[:, : self.dim]
        if self._low is not None:
            self._low = self._low.new_empty(capacity, self.dim)

    def snapshot(self) -> OrthonormalBasis:
        """The present rows. Their memory is shared, which is safe because rows are only ever added to it."""
        return copy.copy(self)

    def to(self, device: torch.device, dtype: torch.dtype, core: torch.dtype, limit: int) -> OrthonormalBasis:
        """The same basis on another device or in another precision."""
        moved = OrthonormalBasis(self.dim, dtype, core, device, limit)
        moved.append(self.exact().to(device).to(core))
        return moved


def bytes_per_row(dim: int, dtype: torch.dtype) -> int:
    """Bytes per row of a basis for inputs of this length and type."""
    if dtype == torch.float64:
        return 8 * aligned_length(dim, torch.float64)
    return 4 * aligned_length(dim, torch.float32) + 2 * dim


def principal_directions(block: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Orthonormal rows (k, p), lengths (k,) and mixing (b, k) with block (b, p) = mixing diag(lengths) rows."""
    if len(block) == 1:
        lengths = torch.linalg.vector_norm(block, dim=1)  # (1,)
        return block / lengths.clamp_min(torch.finfo(block.dtype).tiny), lengths, torch.ones_like(block[:, :1])
    orthonormal, triangle = torch.linalg.qr(block.T)  # (p, k), (k, b)
    turn, lengths, mixing = torch.linalg.svd(triangle, full_matrices=False)
    return (orthonormal @ turn).T, lengths, mixing.T
