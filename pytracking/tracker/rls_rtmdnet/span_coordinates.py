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


@dataclass(slots=True)
class SpanMatrix:
    """Weights, or the fading sum of their changes, as ``unit`` times V + K Q, and their product C with Qᵀ.

    Attributes:
        joined: [V | K], (o, p + room).
        c: (o, room).
        basis: Q (r, p); K and C have columns for r rows, and room for more.
        unit: 1 for weights; for a sum of changes the factor by which the last change was clipped.
    """

    joined: Tensor
    c: Tensor
    basis: Tensor
    unit: float = 1.0

    @classmethod
    def of(cls, whole: Tensor, basis: Tensor, room: int) -> SpanMatrix:
        """A matrix (o, p), with K = 0."""
        return cls(pad(whole, (0, room)), pad(whole @ basis.T, (0, room - len(basis))), basis)

    @property
    def v(self) -> Tensor:  # (o, p)
        return self.joined[:, : self.basis.shape[1]]

    @property
    def k(self) -> Tensor:  # (o, room)
        return self.joined[:, self.basis.shape[1] :]

    def make_room(self, room: int) -> None:
        """Gives K and C this many columns; those that go or come are zero."""
        more = room - self.c.shape[1]
        if more:
            self.joined, self.c = pad(self.joined, (0, more)), pad(self.c, (0, more))

    def total(self) -> Tensor:
        """The matrix itself, (o, p)."""
        return product(self.k[:, : len(self.basis)], self.basis.contiguous()).add_(self.v).mul_(self.unit)


@dataclass(slots=True)
class SpanStep:
    """A change of the weights, which is ``factor`` times the three parts.

    Attributes:
        v: change of V, (o, p).
        k: change of K, (o, room).
        c: change of C, (o, room).
        size: norm of the three parts.
    """

    v: Tensor
    k: Tensor
    c: Tensor
    size: Tensor
    factor: Tensor | float = 1.0

    def norm(self) -> Tensor:
        """Root of the sum of squares."""
        return self.size * self.factor

    def scale(self, factor: Tensor) -> None:
        """Multiplies the change, without a pass over its parts."""
        self.factor = factor * self.factor

    def add(self, weights: SpanMatrix, factor: float) -> None:
        """Adds a multiple of the weights."""
        share = float(factor / self.factor)
        for part, added in ((self.v, weights.v), (self.k, weights.k), (self.c, weights.c)):
            part.add_(added, alpha=share)


class SpanStage:
    """One layer during one stage.

    Args:
        layer: its weights and bias are exchanged for V, K and C until :meth:`finish`.
        left: the layer as the last such stage left it, if Q has only grown since; it is used again as long as the layer
            is the same.
        momentum: of the stage; :meth:`finish` leaves the layer's part of it in the form that the next stage needs.
        basis: Q when the stage begins.
        mini_batches: of the stage, each of which may append a row to Q.
    """

    def __init__(
        self, layer: nn.Linear, left: SpanMatrix | None, momentum: Momentum, basis: Tensor, mini_batches: int
    ) -> None:
        self.source, self.basis = layer, basis
        self.rank, p = basis.shape
        self.room = -(-(p + self.rank + mini_batches) // ROOM_STEP) * ROOM_STEP - p
        self.new = slice(self.rank, self.rank + mini_batches)  # columns of the rows that the stage appends to Q
        self.appended = basis.new_zeros(mini_batches, p + self.room)  # these rows, as wide as [V | K]
        self.seen = self.rank  # rows of Q, those appended by the stage included
        if left is None or not (torch.equal(left.v[:, :-1], layer.weight) and torch.equal(left.v[:, -1], layer.bias)):
            left = SpanMatrix.of(torch.cat([layer.weight.data, layer.bias.data[:, None]], dim=1), basis, self.room)
        if not isinstance(momentum.first, SpanMatrix):
            momentum.first = SpanMatrix.of(momentum.sums[0].whole, basis, self.room)
        self.weights, self.momentum = left, momentum.first
        for matrix in (self.weights, self.momentum):
            matrix.make_room(self.room)
        self.layer = nn.Linear(1, 1, bias=False, device="meta")
        self.layer.weight = nn.Parameter(self.weights.joined, requires_grad=False)

    def with_coordinates(self, sets: list[SampleSet]) -> list[SampleSet]:
        """The same samples with their coordinates in Q; those of earlier stages still hold, as Q only grows."""
        features = self.basis[:, :-1].contiguous()  # (r, p - 1); the constant input's part of coordinates is a bias
        return [self._with_coordinates(samples, features) for samples in sets]

    def _with_coordinates(self, samples: SampleSet, features: Tensor) -> SpanSamples:
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
            derived.values[rows, known : self.rank] = product(table[rows], features[known:].T, self.basis[known:, -1])
            for block in blocks:
                derived.known[block] = self.rank
        return SpanSamples(table, samples.rows, derived, coordinates=derived.values[:, : self.room])

    def step(self, gradient: LayerGradient, factors: PFactors, decay: float) -> SpanStep:
        """(g + decay W) P for the gradient g of a mini-batch."""
        self._see(factors.basis)
        alpha, weights, new, p = factors.alpha, self.weights, self.new, self.basis.shape[1]
        rows = torch.cat([gradient.inputs[:, :p], self.appended[:, :p]])  # (b + t, p)
        h = gradient.inputs[:, p:].clone()  # (b, room)
        h[:, new] = product(rows[: len(h)], rows[len(h) :].T)
        y = product(gradient.outputs.T, h).add_(weights.c, alpha=decay)  # (o, room)
        spare = self.room - self.seen
        z = product(y, pad(factors.core, (0, spare, 0, spare)))
        change = torch.add(z, y, alpha=-alpha).add_(weights.k, alpha=alpha * decay)
        from_new = change[:, new].clone()  # (o, t)
        change[:, new] = 0  # V has it
        left = torch.cat([gradient.outputs * alpha, from_new.T])  # (b + t, o)
        v = product(left.T, rows).add_(weights.v, alpha=alpha * decay)
        # alpha² |g + decay W|²: v = alpha (g + decay V) + N U with orthonormal rows U, and decay K Q is missing in it
        outside = square(v) - (from_new * (from_new + 2 * alpha * y[:, new])).sum()
        outside += alpha**2 * decay * (weights.k * (2 * y - decay * weights.k)).sum()
        size = (outside - alpha**2 * square(y) + square(z)).clamp_min(0).sqrt()
        return SpanStep(v, change, z, size.to(v.dtype))

    def _see(self, basis: Tensor) -> None:
        """Takes in the rows that P has appended to Q: their columns of C."""
        self.appended[self.seen - self.rank : len(basis) - self.rank, : basis.shape[1]] = basis[self.seen :]
        self.seen = len(basis)
        self.weights.c[:, self.new] = product(self.weights.joined, self.appended.T)

    def descend(self, step: SpanStep, kept: float, rate: float) -> None:
        """Takes the step into the momentum and moves the weights by it."""
        total = self.momentum
        kept = float(kept * total.unit / step.factor)
        total.unit = float(step.factor)
        for part, change in ((total.v, step.v), (total.k, step.k), (total.c, step.c)):
            torch.add(change, part, alpha=kept, out=part)
        self.weights.joined.sub_(total.joined, alpha=rate * total.unit)
        self.weights.c.sub_(total.c, alpha=rate * total.unit)

    def finish(self, basis: Tensor) -> SpanMatrix:
        """Writes the weights back, where Q has become ``basis``; the same for the next stage."""
        for matrix in (self.weights, self.momentum):
            matrix.c[:, self.new] = product(matrix.joined, self.appended.T)
            matrix.basis = basis
        self.weights.v.copy_(self.weights.total())
        self.weights.k.zero_()
        self.source.weight.data.copy_(self.weights.v[:, :-1])
        self.source.bias.data.copy_(self.weights.v[:, -1])
        return self.weights


def square(values: Tensor) -> Tensor:
    """Sum of squares, in double precision at the end."""
    return torch.linalg.vector_norm(values).double() ** 2
