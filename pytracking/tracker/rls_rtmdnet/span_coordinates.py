"""fc4 during a stage, in coordinates in which multiplying by P costs little: exact, and without a p x p matrix.

An input x ends with a constant 1, whose weight is the bias; W (o, p) is [weight | bias].
P = alpha (I - QᵀQ) + QᵀSQ, where Q (r, p) spans the inputs of earlier mini-batches. The weights are held as
W = V + K Q, with K = 0 when the stage begins, and each sample x gets its coordinates h = Q x as further inputs. Then
V x + K h = W x, so [V | K] is an ordinary layer on the inputs [x | h], and its gradient is [g | g Qᵀ].
With C = W Qᵀ, Y = g Qᵀ + d C and Z = Y S, the gradient with decay d, multiplied by P, is

    (g + d W) P = alpha (g + d V) + (Z - alpha (Y - d K)) Q,

that is alpha (g + d V) for V, Z - alpha (Y - d K) for K, and Z for C, because P Qᵀ = Qᵀ S. So the long rows of Q are
multiplied with each sample once, not with the weights in every mini-batch. Rows that the stage itself appends to Q are
few: C, Y and Z have columns for them too, but what K would have in these columns goes to V.

Outside the span P is alpha, inside it is S, so the step's norm is |step|² = alpha² (|g + d W|² - |Y|²) + |Z|².

Weights are written out at the end of a stage. Their momentum stays as it is, V + K Q with its C, for the next one.

Rows [x | h] fill whole cache lines and have room for some more coordinates than there are; columns that are not in use
are zero. So products rarely have new sizes. oneDNN prepares for each size and keeps what it has prepared; lying between
freed results, that also keeps their memory from being used again.
"""
from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from pytracking.tracker.rtmdnet.descent import Momentum
from pytracking.tracker.rtmdnet.frame_memory import SampleSet
from pytracking.tracker.rtmdnet.head import LayerGradient
from rls_ext import PFactors
from rls_ext.products import product

ROOM_STEP = 32  # columns


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanSamples(SampleSet):
    """Samples as rows [x | h]: features, a constant 1, and coordinates in Q.

    Attributes:
        coordinates: h of each row of the table, (rows, room).
    """

    coordinates: Tensor

    @property
    def width(self) -> int:
        return self.table.shape[1] + 1 + self.coordinates.shape[1]

    def take(self, positions: Tensor, out: Tensor | None = None) -> Tensor:
        taken = self.table.new_empty(len(positions), self.width) if out is None else out
        rows, features = self.rows[positions], self.table.shape[1]
        torch.index_select(self.table, 0, rows, out=taken[:, :features])
        taken[:, features] = 1
        torch.index_select(self.coordinates, 0, rows, out=taken[:, features + 1 :])
        return taken


class SpanMatrix:
    """Weights, or the fading sum of their changes, as V + K Q, and their product C with Qᵀ.

    Args:
        q: (room, p), of which some rows are zero.
        v: (o, p).
        k: (o, at most room); None: 0.
        c: (o, at most room); None: it is computed, for a K of 0.
    """

    def __init__(self, q: Tensor, v: Tensor, k: Tensor | None = None, c: Tensor | None = None) -> None:
        self.q = q
        self.joined = pad(v, (0, len(q)))  # [V | K]
        self.v, self.k = self.joined.split([v.shape[1], len(q)], dim=1)
        if k is not None:
            self.k[:, : k.shape[1]] = k
        self.c = product(v, q.T) if c is None else pad(c, (0, len(q) - c.shape[1]))

    def square(self) -> Tensor:
        """|V + K Q|² = |V|² + 2 <V Qᵀ, K> + |K|², as V Qᵀ = C - K."""
        return square(self.joined) + 2 * (self.k * (self.c - self.k)).sum()

    def total(self) -> Tensor:
        """V + K Q, (o, p)."""
        return product(self.k, self.q).add_(self.v)


@dataclass(slots=True)
class SpanStep:
    """A change of the weights.

    Attributes:
        v: change of V, (o, p), beside ``share`` times V.
        k: change of K, (o, room), beside ``share`` times K.
        share: of V and K, as decay changes them.
        c: change of C, (o, room).
        size: norm of the change.
    """

    v: Tensor
    k: Tensor
    share: Tensor
    c: Tensor
    size: Tensor

    def norm(self) -> Tensor:
        """Root of the sum of squares."""
        return self.size

    def scale(self, factor: Tensor) -> None:
        """Multiplies the change, in place."""
        for part in (self.v, self.k, self.share, self.c, self.size):
            part.mul_(factor)

    def add(self, weights: SpanMatrix, factor: float) -> None:
        """Adds a multiple of the weights."""
        self.share.add_(factor)
        self.c.add_(weights.c, alpha=factor)


class SpanStage:
    """One layer during one stage.

    Args:
        layer: its weights and bias are exchanged for V, K and C until :meth:`finish`.
        left: the layer as the last such stage left it, if Q has only grown since; its C holds as long as the layer is
            the same.
        momentum: of the stage; :meth:`finish` leaves the layer's part of it in the form that the next stage needs.
        factors: of the layer's P when the stage begins.
        mini_batches: of the stage, each of which may append a row to Q.
    """

    def __init__(
        self, layer: nn.Linear, left: SpanMatrix | None, momentum: Momentum, factors: PFactors, mini_batches: int
    ) -> None:
        self.source, self.source_momentum, self.rank = layer, momentum, len(factors.basis)
        p = factors.basis.shape[1]
        self.room = -(-(p + self.rank + mini_batches) // ROOM_STEP) * ROOM_STEP - p
        self.q = pad(factors.basis, (0, 0, 0, self.room - self.rank))  # (room, p)
        self.q_of_features = self.q[:, :-1].contiguous()
        self.appended = self.q.new_zeros(mini_batches, p)
        self.seen = self.rank  # rows of Q, those appended by the stage included
        whole = torch.cat([layer.weight.data, layer.bias.data[:, None]], dim=1)
        unchanged = left is not None and torch.equal(left.v, whole)
        self.weights = SpanMatrix(self.q, whole, c=left.c if unchanged else None)
        kept = momentum.first
        if isinstance(kept, SpanMatrix):
            self.momentum = SpanMatrix(self.q, kept.v, kept.k, kept.c)
        else:
            self.momentum = SpanMatrix(self.q, momentum.sums[0].whole)
        self.layer = nn.Linear(1, 1, bias=False, device="meta")
        self.layer.weight = nn.Parameter(self.weights.joined, requires_grad=False)

    def with_coordinates(self, samples: SampleSet) -> SpanSamples:
        """The same samples with their coordinates in Q; those of earlier stages still hold, as Q only grows."""
        table, derived = samples.table, samples.derived
        if derived.values is None or derived.values.shape[1] < self.room:
            larger = table.new_zeros(len(table), self.room + self.room // 4)
            if derived.values is not None:
                larger[:, : derived.values.shape[1]] = derived.values
            derived.values = larger
        size = len(table) // len(derived.known)
        used = enumerate((samples.rows // size).unique().tolist())
        for (known, _), run in groupby(used, lambda pair: (derived.known[pair[1]], pair[1] - pair[0])):
            blocks = [block for _, block in run]  # neighbours of which the same columns are known
            rows = slice(blocks[0] * size, (blocks[-1] + 1) * size)
            new = slice(known, self.rank)  # columns; the constant input's part of them is a bias
            derived.values[rows, new] = product(table[rows], self.q_of_features[new].T, self.q[new, -1])
            for block in blocks:
                derived.known[block] = self.rank
        return SpanSamples(table, samples.rows, derived, coordinates=derived.values[:, : self.room])

    def step(self, gradient: LayerGradient, outputs: Tensor, factors: PFactors, decay: float) -> SpanStep:
        """(g + decay W) P for the gradient g of a mini-batch and the layer's rectified outputs (b, o) in it."""
        self._see(factors.basis)
        alpha, weights = factors.alpha, self.weights
        rows = torch.cat([gradient.inputs[:, : self.q.shape[1]], self.appended])  # (b + t, p)
        h = gradient.inputs[:, self.q.shape[1] :].clone()  # (b, room)
        new = slice(self.rank, self.rank + len(self.appended))  # columns of the t rows that the stage appends in all
        h[:, new] = product(rows[: len(h)], self.appended.T)
        y = product(gradient.outputs.T, h)  # (o, room)
        from_gradient = y[:, new].clone()
        if decay:
            y.add_(weights.c, alpha=decay)
        spare = self.room - self.seen
        z = product(y, pad(factors.core, (0, spare, 0, spare)))
        change = torch.add(z, y, alpha=-alpha)
        from_new = change[:, new].clone()  # (o, t)
        change[:, new] = 0  # V has it
        left = torch.cat([gradient.outputs * alpha, from_new.T])  # (b + t, o)
        v = product(left.T, rows)
        # alpha² |g|², from v = alpha g + N U with orthonormal rows U
        outside = square(v) - (from_new * (from_new + 2 * alpha * from_gradient)).sum()
        if decay:
            outside += alpha**2 * (2 * decay * (gradient.outputs * outputs).sum() + decay**2 * weights.square())
        size = (outside - alpha**2 * square(y) + square(z)).clamp_min(0).sqrt()
        return SpanStep(v, change, v.new_tensor(alpha * decay), z, size.to(v.dtype))

    def _see(self, basis: Tensor) -> None:
        """Takes in the rows that P has appended to Q: their columns of C."""
        new = basis[self.seen :]
        self.appended[self.seen - self.rank : len(basis) - self.rank] = new
        for matrix in (self.weights, self.momentum):
            matrix.c[:, self.seen : len(basis)] = matrix.v @ new.T
        self.seen = len(basis)

    def descend(self, step: SpanStep, kept: float, rate: float) -> None:
        """Takes the step into the momentum and moves the weights by it."""
        total = self.momentum
        for part, change in ((total.v, step.v), (total.k, step.k), (total.c, step.c)):
            torch.add(change, part, alpha=kept, out=part)
        total.joined.add_(self.weights.joined, alpha=float(step.share))
        self.weights.joined.sub_(total.joined, alpha=rate)
        self.weights.c.sub_(total.c, alpha=rate)

    def finish(self) -> SpanMatrix:
        """Writes the weights back; the same for the next stage."""
        self.weights.v.copy_(self.weights.total())
        self.source.weight.data.copy_(self.weights.v[:, :-1])
        self.source.bias.data.copy_(self.weights.v[:, -1])
        self.source_momentum.first = self.momentum
        return self.weights


def square(values: Tensor) -> Tensor:
    """Sum of squares, in double precision at the end."""
    return torch.linalg.vector_norm(values).double() ** 2
