"""One layer's matrix P_n, applied to mini-batches at the least cost."""
from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from rls_ext import InverseCorrelation

PENDING_LIMIT = 64  # inputs that P may lag behind before it takes them in
TABLE_ROWS = 512  # products kept at most; a stage has about 480 different hard negatives


class LayerMemory:
    """P_n of one layer as P at some earlier moment and the few inputs since.

    With u_j = P_(j-1) x_j / sqrt(1 + x_jᵀ P_(j-1) x_j), Eq. inverse_Phi2 with beta = 1 is P_n = P_0 - Σ u_j u_jᵀ. So
    P_0 may rest during a stage of learning: products with it can be used again for the samples that one mini-batch
    after another turns out to need, and it takes the stage's inputs in as one block, which is exact and several times
    faster than one by one. With beta < 1 every input is taken in at once.

    Args:
        inverse: the matrix; its dimension includes the bias.
    """

    def __init__(self, inverse: InverseCorrelation) -> None:
        self.inverse = inverse
        self._inputs: list[Tensor] = []  # x_j (p,) that P has not taken in
        self.changes: Tensor | None = None  # u_j as rows (n, p)
        self._cache = ProductCache()
        self.before_settling: list[Callable[[], None]] = []  # called while the changes that P takes in are still known

    @property
    def alpha(self) -> float:
        """P_n is this multiple of the identity on what no input has touched."""
        return 1 / (self.inverse.delta * self.inverse.beta**self.inverse.steps)

    @property
    def nbytes(self) -> int:
        """Bytes of P, of what it has not taken in, and of the products with it."""
        pending = 0 if self.changes is None else 2 * self.changes.nbytes
        return self.inverse.nbytes + pending + self._cache.nbytes

    def begin_stage(self, negatives: int) -> None:
        """Prepares for mini-batches that draw from so many negatives."""
        self._cache.begin(negatives)

    def end_stage(self) -> None:
        """P takes in what it has not yet, and the products with the old P are forgotten."""
        self._take_in()
        self._cache.begin(0)

    def abandon_stage(self) -> None:
        """Forgets the inputs that P has not taken in."""
        self._inputs, self.changes = [], None
        self._cache.begin(0)

    def learn(self, rows: Tensor, seen: Tensor, negatives: Tensor | None) -> Tensor:
        """Takes a mini-batch's virtual input (Eq. mean2) into P_n, then multiplies the mini-batch by it.

        Args:
            rows: the layer's inputs with a last column of ones, (b, p).
            seen: the inputs whose mean is the virtual input, (b, p): ``rows``, or the same before dropout.
            negatives: numbers of the negatives that are the last rows, if a negative's row is the same in every
                mini-batch; None if it is not.

        Returns:
            rows P_n, (b, p).
        """
        virtual_input = seen.mean(dim=0)
        if self.inverse.beta != 1:
            self.inverse.update(virtual_input)
            return self.inverse.precondition(rows)
        if len(self._inputs) >= PENDING_LIMIT:
            self._take_in()
        if negatives is None:
            products = self.inverse.precondition(rows)
        else:
            products = self._cache.products(rows, negatives, self.inverse)
        mean_product = products.mean(dim=0) if seen is rows else self.inverse.precondition(virtual_input)
        self._remember(virtual_input, mean_product)
        return self._minus_changes(rows, products)

    def see(self, virtual_input: Tensor) -> None:
        """Takes a virtual input (p,) into P_n, and multiplies nothing."""
        if self.inverse.beta != 1:
            self.inverse.update(virtual_input)
            return
        if len(self._inputs) >= PENDING_LIMIT:
            self._take_in()
        self._remember(virtual_input, self.inverse.precondition(virtual_input))

    def precondition(self, rows: Tensor) -> Tensor:
        """rows P_n (b, p)."""
        return self._minus_changes(rows, self.inverse.precondition(rows))

    def _remember(self, virtual_input: Tensor, product: Tensor) -> None:
        product = self._minus_changes(virtual_input[None], product[None])[0]  # P_(n-1) x_n
        change = product * torch.rsqrt(1 + torch.dot(virtual_input, product).clamp(min=0))
        self._inputs.append(virtual_input)
        self.changes = change[None] if self.changes is None else torch.cat([self.changes, change[None]])

    def _minus_changes(self, rows: Tensor, products: Tensor) -> Tensor:
        if self.changes is None:
            return products
        return torch.addmm(products, rows @ self.changes.T, self.changes, alpha=-1)

    def _take_in(self) -> None:
        if not self._inputs:
            return
        for notice in self.before_settling:
            notice()
        self.inverse.update(torch.stack(self._inputs))
        self._inputs, self.changes = [], None
        self._cache.forget()


class ProductCache:
    """Products of negatives with the resting P: hard negatives come back in one mini-batch after another."""

    def __init__(self) -> None:
        self._place = torch.empty(0, dtype=torch.int64)  # of each negative in the table, -1 if it is not there
        self._table: Tensor | None = None  # (TABLE_ROWS or a mini-batch's, p)
        self._used = 0

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self._place.nbytes + (0 if self._table is None else self._table.nbytes)

    def begin(self, negatives: int) -> None:
        """Forgets everything; from now on there are so many different negatives."""
        self._place = torch.full((negatives,), -1)
        self._used = 0

    def forget(self) -> None:
        """P has changed, or the table is full: no product is valid any more."""
        self._place.fill_(-1)
        self._used = 0

    def products(self, rows: Tensor, negatives: Tensor, inverse: InverseCorrelation) -> Tensor:
        """rows P (b, p), where the last rows are the numbered negatives; computed for what is new."""
        others = len(rows) - len(negatives)
        numbers = negatives.cpu()
        unknown = self._place[numbers] < 0
        if self._used + int(unknown.sum()) > max(TABLE_ROWS, len(numbers)):
            self.forget()
            unknown = torch.ones_like(unknown)
        wanted = torch.cat([torch.ones(others, dtype=torch.bool), unknown]).to(rows.device)
        computed = inverse.precondition(rows if bool(unknown.all()) else rows[wanted])
        self._store(numbers[unknown], computed[others:])
        return torch.cat([computed[:others], self._table[self._place[numbers].to(rows.device)]])

    def _store(self, numbers: Tensor, products: Tensor) -> None:
        if self._table is None:
            self._table = products.new_empty((max(TABLE_ROWS, len(numbers)), products.shape[1]))
        end = self._used + len(products)
        self._table[self._used : end] = products
        self._place[numbers] = torch.arange(self._used, end)
        self._used = end
