"""One layer's matrix P_n, applied to mini-batches at the least cost."""
from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from pytracking.tracker.rls_rtmdnet.product_cache import ProductCache, multiply_by
from rls_ext import InverseCorrelation
from rls_ext.aligned import aligned_length

PENDING_LIMIT = 64  # inputs that P may lag behind before it takes them in
PENDING_ROOM = 16  # inputs there is always room for: those of a regular update


class LayerMemory:
    """P_n of one layer as P at some earlier moment and the few inputs since.

    With u_j = P_(j-1) x_j / sqrt(1 + x_jᵀ P_(j-1) x_j), Eq. inverse_Phi2 with beta = 1 is P_n = P_0 - Σ u_j u_jᵀ. So
    P_0 may rest during a stage of learning: products with it can be used again for the samples that one mini-batch
    after another turns out to need, and it takes the stage's inputs in as one block, which is exact and several times
    faster than one by one. With beta < 1 every input is taken in at once.

    Rows that are multiplied often live in memory that is used again for every mini-batch, the u_j right before the
    mini-batch's products with P_0, so that both are one factor of the step; rows are filled up with zeros to whole
    cache lines (``rls_ext.aligned``), the width of all matrices here.

    Args:
        inverse: the matrix; its dimension includes the bias.
        products: how many products with negatives to keep at most.
    """

    def __init__(self, inverse: InverseCorrelation, products: int) -> None:
        self.inverse = inverse
        self.width = aligned_length(inverse.dim, inverse.dtype)
        self._inputs: list[Tensor] = []  # x_j (p,) that P has not taken in
        self._factors = self._zeros(0)  # the u_j, newest first, up to row _room; then a mini-batch's products with P_0
        self._room = 0
        self._batch = 0  # rows of the mini-batch
        self._order: Tensor | None = None  # which row of the mini-batch each product is of; None: in order
        self._cache = ProductCache(products)
        self.before_settling: list[Callable[[], None]] = []  # called while the changes that P takes in are still known

    @property
    def alpha(self) -> float:
        """P_n is this multiple of the identity on what no input has touched."""
        return 1 / (self.inverse.delta * self.inverse.beta**self.inverse.steps)

    @property
    def nbytes(self) -> int:
        """Bytes of P, of what it has not taken in, and of the products with it."""
        pending = sum(each.nbytes for each in self._inputs)
        return self.inverse.nbytes + pending + self._factors.nbytes + self._cache.nbytes

    @property
    def changes(self) -> Tensor:
        """The u_j, newest first, (n, width)."""
        return self._factors[self._room - len(self._inputs) : self._room]

    def begin_stage(self, negatives: int) -> None:
        """Prepares for mini-batches that draw from so many negatives."""
        self._cache.begin(negatives)

    def end_stage(self) -> None:
        """P takes in what it has not yet, and the products with the old P are forgotten."""
        self._take_in()
        self._cache.begin(0)
        if self._room > PENDING_ROOM:
            self._factors, self._room = self._zeros(0), 0

    def abandon_stage(self) -> None:
        """Forgets the inputs that P has not taken in."""
        self._inputs = []
        self._cache.begin(0)

    def learn(self, inputs: Tensor, seen: Tensor, negatives: Tensor | None) -> None:
        """Takes a mini-batch's virtual input (Eq. mean2) into P_n, and multiplies the mini-batch by P_0.

        Args:
            inputs: of the layer, (b, d).
            seen: the inputs whose mean is the virtual input, (b, d): ``inputs``, or the same before dropout.
            negatives: numbers of the negatives that are the last rows, if a negative's row is the same in every
                mini-batch; None if it is not.
        """
        virtual_input = with_one(seen.mean(dim=0))
        if self.inverse.beta != 1:
            self.inverse.update(virtual_input)
            negatives = None
        products = self._rows_for(len(inputs))
        if negatives is None:
            products[:, : inputs.shape[1]] = inputs
            multiply_by(self.inverse, products)
            self._order = None
        else:
            self._order = self._cache.products(inputs, negatives, self.inverse, products)
        if self.inverse.beta == 1:
            same = seen is inputs
            known = products.mean(dim=0)[: self.inverse.dim] if same else self.inverse.precondition(virtual_input)
            self._remember(virtual_input, known)

    def factored_step(self, inputs: Tensor, outputs: Tensor) -> tuple[Tensor, Tensor]:
        """C (n + b, o) and F (n + b, width), so that Cᵀ F = outputsᵀ [inputs | 1] P_n for the mini-batch just learned.

        Args:
            inputs: what was learned, (b, d).
            outputs: derivatives of the loss by the layer's outputs, (b, o).
        """
        changes, dim = self.changes, inputs.shape[1]
        count = len(changes)
        coefficients = outputs.new_empty(count + len(outputs), outputs.shape[1])
        along = torch.addmm(changes[:, dim, None], changes[:, :dim], inputs.T)  # u_jᵀ x, (n, b)
        torch.mm(along, outputs, out=coefficients[:count]).neg_()
        coefficients[count:] = outputs if self._order is None else outputs.index_select(0, self._order)
        return coefficients, self._factors[self._room - count : self._room + self._batch]

    def see(self, virtual_input: Tensor) -> None:
        """Takes a virtual input (p,) into P_n, and multiplies nothing."""
        if self.inverse.beta != 1:
            self.inverse.update(virtual_input)
            return
        self._rows_for(0)
        self._remember(virtual_input, self.inverse.precondition(virtual_input))

    def precondition(self, rows: Tensor) -> Tensor:
        """rows P_n for rows (b, p)."""
        changes = self.changes[:, : self.inverse.dim]
        return self.inverse.precondition(rows).addmm_(rows @ changes.T, changes, alpha=-1)

    def _rows_for(self, batch: int) -> Tensor:
        """Memory (batch, width) for a mini-batch's products, and room for one more u_j before it."""
        if len(self._inputs) >= PENDING_LIMIT:
            self._take_in()
        count = len(self._inputs)
        if count >= self._room or len(self._factors) < self._room + batch:
            room = max(PENDING_ROOM, self._room if count < self._room else 2 * count)
            grown = self._zeros(room + max(batch, self._batch))
            grown[room - count : room] = self.changes
            self._factors, self._room = grown, room
        self._batch = batch
        return self._factors[self._room : self._room + batch]

    def _zeros(self, rows: int) -> Tensor:
        return torch.zeros(rows, self.width, dtype=self.inverse.dtype, device=self.inverse.device)

    def _remember(self, virtual_input: Tensor, product: Tensor) -> None:
        changes = self.changes[:, : self.inverse.dim]
        product = torch.addmv(product, changes.T, changes @ virtual_input, alpha=-1)  # P_(n-1) x_n
        self._inputs.append(virtual_input)
        scale = torch.rsqrt(1 + torch.dot(virtual_input, product).clamp(min=0))
        self._factors[self._room - len(self._inputs), : self.inverse.dim] = product * scale

    def _take_in(self) -> None:
        if not self._inputs:
            return
        for notice in self.before_settling:
            notice()
        self.inverse.update(torch.stack(self._inputs))
        self._inputs = []
        self._cache.forget()


def with_one(vector: Tensor) -> Tensor:
    """(d,) -> (d + 1,): the bias is a weight of a constant input."""
    return torch.cat([vector, vector.new_ones(1)])
