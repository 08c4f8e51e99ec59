"""fc4 during a stage, in coordinates in which multiplying by P costs little: exact, and without a p x p matrix.

An input x ends with a constant 1, whose weight is the bias; W (o, p) is [weight | bias].
P = alpha (I - QᵀQ) + QᵀSQ, where Q (r, p) spans the inputs of earlier mini-batches. The weights are held as
W = V + K Q, with K = 0 when the stage begins, and each sample x gets its coordinates h = Q x as further inputs. Then
V x + K h = W x, so [V | K] is an ordinary layer on the inputs [x | h], and its gradient is [g | g Qᵀ].
With C = W Qᵀ, Y = g Qᵀ + d C and Z = Y S, the gradient with decay d, multiplied by P, is

    (g + d W) P = alpha (g + d V) + (Z - alpha (Y - d K)) Q,

that is alpha (g + d V) for V, Z - alpha (Y - d K) for K, and Z for C, because P Qᵀ = Qᵀ S. So the long rows of Q are
multiplied with each sample once, not with the weights in every mini-batch. Rows that the stage itself appends to Q are
few: Y and Z have columns for them too, and what belongs to them goes to V.

A step is kept in factors: for V, alpha g = alpha ΔᵀX and the part of the appended rows are one product of low rank,
which is added to the momentum and nowhere else. Its norm needs no more than the factors either: outside the span P is
alpha, inside it is S, so |step|² = alpha² (|g + d W|² - |Y|²) + |Z|².

K, C, Y and Z have room for the rows that the stage will append and some more: columns that are not in use are zero.
So products rarely have new sizes. oneDNN prepares for each size and keeps what it has prepared; lying between freed
results, that also keeps their memory from being used again.
"""
from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from pytracking.tracker.rtmdnet.descent import LayerStep, with_constant
from pytracking.tracker.rtmdnet.frame_memory import SampleSet
from pytracking.tracker.rtmdnet.head import LayerGradient
from rls_ext import PFactors
from rls_ext.products import product

ROOM_STEP = 64  # columns


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
    """Weights, or the sum of their changes, as V + K Q, and their product C with Qᵀ.

    Args:
        whole: what V is at first, (o, p); K is 0.
        q: (room, p), of which some rows are zero.
    """

    def __init__(self, whole: Tensor, q: Tensor) -> None:
        self.q = q
        self.joined = pad(whole, (0, len(q)))  # [V | K]
        self.v, self.k = self.joined.split([whole.shape[1], len(q)], dim=1)
        self.c = product(whole, q.T)

    def square(self) -> Tensor:
        """|V + K Q|² = |V|² + |C|² - |C - K|², as V Qᵀ = C - K."""
        joined, k, difference = (square(part) for part in (self.joined, self.k, self.c - self.k))
        return joined - k + square(self.c) - difference

    def total(self) -> Tensor:
        """V + K Q, (o, p)."""
        return product(self.k, self.q).add_(self.v)


@dataclass(slots=True)
class SpanStep:
    """A change of the weights: leftᵀ rows + share V for V, and changes of K and C.

    Attributes:
        left: (n, o).
        rows: (n, p).
        share: of V itself, as decay changes it.
        k: (o, room).
        c: (o, room).
        size: norm of the change.
    """

    left: Tensor
    rows: Tensor
    share: Tensor
    k: Tensor
    c: Tensor
    size: Tensor

    def norm(self) -> Tensor:
        """Root of the sum of squares."""
        return self.size

    def scale(self, factor: Tensor) -> None:
        """Multiplies the change, in place."""
        for part in (self.left, self.share, self.k, self.c, self.size):
            part.mul_(factor)

    def add(self, weights: SpanMatrix, factor: float) -> None:
        """Adds a multiple of the weights."""
        self.share.add_(factor)
        self.k.add_(weights.k, alpha=factor)
        self.c.add_(weights.c, alpha=factor)


class SpanStage:
    """One layer during one stage.

    Args:
        layer: its weights and bias are exchanged for V, K and C until :meth:`finish`.
        momentum: the fading sum of the layer's steps.
        factors: of the layer's P when the stage begins.
        mini_batches: of the stage, each of which may append a row to Q.
    """

    def __init__(self, layer: nn.Linear, momentum: LayerStep, factors: PFactors, mini_batches: int) -> None:
        self.source, self.rank, self.mini_batches = layer, len(factors.basis), mini_batches
        self.room = -(-(self.rank + mini_batches) // ROOM_STEP) * ROOM_STEP
        self.q = pad(factors.basis, (0, 0, 0, self.room - self.rank))  # (room, p)
        whole = torch.cat([layer.weight.data, layer.bias.data[:, None]], dim=1)
        self.weights = SpanMatrix(whole, self.q)
        self.momentum = SpanMatrix(momentum.whole, self.q)
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
        used = (samples.rows // size).unique().tolist()
        for block in used:
            known, rows = derived.known[block] // ROOM_STEP * ROOM_STEP, slice(block * size, (block + 1) * size)
            derived.values[rows, known : self.room] = product(with_constant(table[rows]), self.q[known:].T)
            derived.known[block] = self.rank
        return SpanSamples(table, samples.rows, derived, coordinates=derived.values[:, : self.room])

    def step(self, gradient: LayerGradient, outputs: Tensor, factors: PFactors, decay: float) -> SpanStep:
        """(g + decay W) P for the gradient g of a mini-batch and the layer's rectified outputs (b, o) in it."""
        alpha, weights, seen = factors.alpha, self.weights, len(factors.basis)
        batch, p = len(gradient.inputs), self.q.shape[1]
        new = slice(self.rank, self.rank + self.mini_batches)  # columns of the t rows that the stage appends in all
        unused = self.q.new_zeros(new.stop - seen, p)
        rows = torch.cat([gradient.inputs[:, :p], factors.basis[self.rank :], unused])  # (b + t, p)
        products = product(rows[:batch], rows.T)  # (b, b + t)
        h = gradient.inputs[:, p:].clone()  # (b, room)
        h[:, new] = products[:, batch:]
        y = product(gradient.outputs.T, h)  # (o, room)
        gradient_square = (gradient.outputs @ gradient.outputs.T).double().mul_(products[:, :batch]).sum()
        if decay:
            y.add_(weights.c, alpha=decay)
            appended = pad(rows[batch:], (0, self.room))  # [V | K] is multiplied whole: it is in one piece, V is not
            y[:, new].add_(product(appended, weights.joined.T).T, alpha=decay)
            gradient_square += 2 * decay * (gradient.outputs * outputs).sum() + decay**2 * weights.square()
        spare = self.room - seen
        z = product(y, pad(factors.core, (0, spare, 0, spare)))
        change = torch.add(z, y, alpha=-alpha)
        size = (alpha**2 * (gradient_square - square(y)) + square(z)).clamp_min(0).sqrt()
        left = torch.cat([gradient.outputs * alpha, change[:, new].T])  # (b + t, o)
        for part in (change, z):
            part[:, new] = 0  # V has it
        change.add_(weights.k, alpha=alpha * decay)
        return SpanStep(left, rows, rows.new_tensor(alpha * decay), change, z, size.to(rows.dtype))

    def descend(self, step: SpanStep, kept: float, rate: float) -> None:
        """Takes the step into the momentum and moves the weights by it."""
        total = self.momentum
        change = product(step.left.T, step.rows)
        torch.add(change, total.v, alpha=kept, out=total.v).add_(self.weights.v, alpha=float(step.share))
        torch.add(step.k, total.k, alpha=kept, out=total.k)
        torch.add(step.c, total.c, alpha=kept, out=total.c)
        self.weights.joined.sub_(total.joined, alpha=rate)
        self.weights.c.sub_(total.c, alpha=rate)

    def finish(self, momentum: LayerStep) -> None:
        """Writes weights and momentum back."""
        whole = self.weights.total()
        self.source.weight.data.copy_(whole[:, :-1])
        self.source.bias.data.copy_(whole[:, -1])
        momentum.whole.copy_(self.momentum.total())


def square(values: Tensor) -> Tensor:
    """Sum of squares, in double precision at the end."""
    return torch.linalg.vector_norm(values).double() ** 2
