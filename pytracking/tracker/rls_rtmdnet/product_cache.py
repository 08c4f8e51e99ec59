"""Products of negatives with a P that rests: hard negatives come back in one mini-batch after another."""
from __future__ import annotations

import torch
from torch import Tensor

from rls_ext import InverseCorrelation


class ProductCache:
    """A table of products, found by the number of a negative; the oldest make room for new ones.

    Args:
        rows: how many products the table holds.
    """

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self._place = torch.empty(0, dtype=torch.int64)  # of each negative in the table, -1 if it is not there
        self._owner = torch.full((rows,), -1)  # of each place: a negative's number
        self._table: Tensor | None = None  # (rows, width)
        self._next = 0  # the place to be used next

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self._place.nbytes + self._owner.nbytes + (0 if self._table is None else self._table.nbytes)

    def begin(self, negatives: int) -> None:
        """Forgets everything; from now on there are so many different negatives."""
        self._place = torch.empty(negatives, dtype=torch.int64)
        self.forget()

    def forget(self) -> None:
        """P has changed: no product is valid any more."""
        self._place.fill_(-1)
        self._owner.fill_(-1)
        self._next = 0

    def products(self, inputs: Tensor, negatives: Tensor, inverse: InverseCorrelation, out: Tensor) -> Tensor:
        """[inputs | 1] P into ``out``, where the last inputs are the numbered negatives; computed for what is new.

        Args:
            inputs: (b, d).
            negatives: numbers of the last inputs.
            inverse: P.
            out: (b, width), zero behind the d + 1 columns of a product.

        Returns:
            Which input each row of ``out`` is the product of, (b,): those computed come first.
        """
        others, numbers = len(inputs) - len(negatives), negatives.cpu()
        places = torch.cat([torch.full((others,), -1), self._place[numbers]])
        order = torch.argsort(places >= 0, stable=True)
        count = int((places < 0).sum())
        torch.index_select(inputs, 0, order[:count].to(inputs.device), out=out[:count, : inverse.dim - 1])
        multiply_by(inverse, out[:count])
        if self._table is None:
            self._table = torch.empty(self.rows, out.shape[1], dtype=out.dtype, device=out.device)
        torch.index_select(self._table, 0, places[order[count:]].to(out.device), out=out[count:])
        self._store(numbers[order[others:count] - others], out[others:count])
        return order.to(inputs.device)

    def _store(self, numbers: Tensor, products: Tensor) -> None:
        numbers, products = numbers[: self.rows], products[: self.rows]
        places = (self._next + torch.arange(len(numbers))) % self.rows
        evicted = self._owner[places]
        self._place[evicted[evicted >= 0]] = -1
        self._table[places.to(products.device)] = products
        self._place[numbers], self._owner[places] = places, numbers
        self._next = (self._next + len(numbers)) % self.rows


def multiply_by(inverse: InverseCorrelation, rows: Tensor) -> None:
    """Rows (b, width) that begin with a layer's inputs become [inputs | 1] P; behind that they are and stay zero."""
    rows[:, inverse.dim - 1] = 1  # the bias is a weight of a constant input
    whole = rows[:, : inverse.dim]
    inverse.precondition(whole, out=whole)
