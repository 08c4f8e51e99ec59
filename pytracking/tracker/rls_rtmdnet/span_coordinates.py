"""fc4 during a stage, in coordinates in which multiplying by P costs little: exact, and without a p x p matrix.

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
"""
from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from pytracking.tracker.rtmdnet.descent import LayerStep
from pytracking.tracker.rtmdnet.frame_memory import SampleSet
from pytracking.tracker.rtmdnet.head import LayerGradient
from rls_ext import PFactors
from rls_ext.basis import aligned_length


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanSamples(SampleSet):
    """Samples as rows [x | h]: features and coordinates in Q.

    Attributes:
        coordinates: h of each row of the table, filled up with zeros to whole cache lines.
    """

    coordinates: Tensor

    @property
    def width(self) -> int:
        return self.table.shape[1] + self.coordinates.shape[1]

    def take(self, positions: Tensor, out: Tensor | None = None) -> Tensor:
        taken = self.table.new_empty(len(positions), self.width) if out is None else out
        rows, features = self.rows[positions], self.table.shape[1]
        torch.index_select(self.table, 0, rows, out=taken[:, :features])
        torch.index_select(self.coordinates, 0, rows, out=taken[:, features:])
        return taken


@dataclass(frozen=True, slots=True)
class SpanMatrix:
    """Weights, or the sum of their changes, as one matrix [V | K | C | bias]: V + K Q, and its product C with Qᵀ.

    Attributes:
        whole: (o, width), filled up with zeros to whole cache lines, also between K and C.
        inputs: columns of V.
        rank: rows r of Q when the stage begins, columns of K and of C.
    """

    whole: Tensor
    inputs: int
    rank: int

    @classmethod
    def of(cls, weight: Tensor, bias: Tensor, q: Tensor) -> SpanMatrix:
        """A layer with all of its weights in V."""
        inputs, room = weight.shape[1], aligned_length(len(q), q.dtype)
        width = aligned_length(inputs + 2 * room + 1, weight.dtype)
        matrix = cls(weight.new_zeros(len(weight), width), inputs, len(q))
        matrix.v.copy_(weight)
        matrix.bias.copy_(bias)
        matrix.c.copy_(matrix.products(q))
        return matrix

    @property
    def inputs_with_coordinates(self) -> int:
        """Columns of [V | K]."""
        return self.inputs + aligned_length(self.rank, self.whole.dtype)

    @property
    def v(self) -> Tensor:  # (o, inputs)
        return self.whole[:, : self.inputs]

    @property
    def tail(self) -> Tensor:
        """All but V: [K | C | bias]."""
        return self.whole[:, self.inputs :]

    @property
    def k(self) -> Tensor:  # (o, r)
        return self.tail[:, : self.rank]

    @property
    def c(self) -> Tensor:  # (o, r)
        return self.whole[:, self.inputs_with_coordinates :][:, : self.rank]

    @property
    def bias(self) -> Tensor:  # (o,)
        return self.whole[:, -1]

    def products(self, rows: Tensor) -> Tensor:
        """[V | bias] times rows (n, p), transposed: (o, n)."""
        return times_rows(self.v, self.bias, rows)

    def square(self) -> Tensor:
        """|V + K Q|² = |V|² + |C|² - |C - K|², as V Qᵀ = C - K; |V|² comes from the whole, which is contiguous."""
        whole, k, difference = (square(part) for part in (self.whole, self.k, self.c - self.k))
        return whole - k - difference

    def write_to(self, weight: Tensor, bias: Tensor, q: Tensor) -> None:
        """V + K Q as the weights of a layer."""
        torch.addmm(self.v, self.k, q[:, :-1], out=weight)
        torch.addmv(self.bias, self.k, q[:, -1], out=bias)


@dataclass(slots=True)
class SpanStep:
    """A change of the weights: leftᵀ rows + share V for V, and the rest of the columns as they are.

    Attributes:
        left: (n, o).
        rows: (n, inputs).
        share: of V itself, as decay changes it.
        tail: [K | C | bias].
        size: norm of the change.
    """

    left: Tensor
    rows: Tensor
    share: Tensor
    tail: Tensor
    size: Tensor

    def norm(self) -> Tensor:
        """Root of the sum of squares."""
        return self.size

    def scale(self, factor: Tensor) -> None:
        """Multiplies the change, in place."""
        for part in (self.left, self.share, self.tail, self.size):
            part.mul_(factor)

    def add(self, weights: SpanMatrix, factor: float) -> None:
        """Adds a multiple of the weights."""
        self.share.add_(factor)
        self.tail.add_(weights.tail, alpha=factor)


class SpanStage:
    """One layer during one stage.

    Args:
        layer: its weights and bias are exchanged for [V | K | C | bias] until :meth:`finish`.
        momentum: the fading sum of the layer's steps.
        factors: of the layer's P when the stage begins.
    """

    def __init__(self, layer: nn.Linear, momentum: LayerStep, factors: PFactors) -> None:
        self.source, self.q = layer, factors.basis
        self.weights = SpanMatrix.of(layer.weight.data, layer.bias.data, self.q)
        self.momentum = SpanMatrix.of(momentum.weight, momentum.bias, self.q)
        self.layer = nn.Linear(1, 1, device="meta")
        weight = self.weights.whole[:, : self.weights.inputs_with_coordinates]
        self.layer.weight = nn.Parameter(weight, requires_grad=False)
        self.layer.bias = nn.Parameter(self.weights.bias, requires_grad=False)

    def with_coordinates(self, samples: SampleSet) -> SpanSamples:
        """The same samples with their coordinates in Q; those of earlier stages still hold, as Q only grows."""
        rank, table, derived = len(self.q), samples.table, samples.derived
        width = aligned_length(rank, table.dtype)
        if derived.values is None or derived.values.shape[1] < width:
            larger = table.new_zeros(len(table), aligned_length(width + width // 4, table.dtype))
            if derived.values is not None:
                larger[:, : derived.values.shape[1]] = derived.values
            derived.values = larger
        size = len(table) // len(derived.known)
        used = (samples.rows // size).unique().tolist()
        for block in used:
            known, rows = derived.known[block], slice(block * size, (block + 1) * size)
            new = self.q[known:]
            derived.values[rows, known:rank] = times_rows(table[rows], table.new_ones(size), new)
            derived.known[block] = rank
        return SpanSamples(table, samples.rows, derived, coordinates=derived.values[:, :width])

    def step(self, gradient: LayerGradient, outputs: Tensor, factors: PFactors, decay: float) -> SpanStep:
        """(g + decay W) P for the gradient g of a mini-batch and the layer's rectified outputs (b, o) in it."""
        alpha, weights, rank = factors.alpha, self.weights, self.weights.rank
        x, h = gradient.inputs[:, : weights.inputs], gradient.inputs[:, weights.inputs :][:, :rank]
        appended = factors.basis[rank:]  # (t, p)
        rows = torch.cat([x, appended[:, :-1]])  # (b + t, inputs)
        biases = torch.cat([x.new_ones(len(x)), appended[:, -1]])  # (b + t,)
        products = x @ rows.T + biases  # (b, b + t)
        h = torch.cat([h, products[:, len(x) :]], dim=1)  # (b, r + t)
        y = gradient.outputs.T @ h  # (o, r + t)
        gradient_square = (gradient.outputs @ gradient.outputs.T).double().mul_(products[:, : len(x)]).sum()
        if decay:
            y.add_(torch.cat([weights.c, weights.products(appended)], dim=1), alpha=decay)
            gradient_square += 2 * decay * (gradient.outputs * outputs).sum() + decay**2 * weights.square()
        z = y @ factors.core
        change = torch.add(z, y, alpha=-alpha)
        step = SpanMatrix(torch.zeros_like(weights.tail), 0, rank)  # without V
        torch.add(change[:, :rank], weights.k, alpha=alpha * decay, out=step.k)
        step.c.copy_(z[:, :rank])
        left = torch.cat([gradient.outputs * alpha, change[:, rank:].T])  # (b + t, o)
        step.bias.copy_(torch.addmv(weights.bias, left.T, biases, beta=alpha * decay))
        size = (alpha**2 * (gradient_square - square(y)) + square(z)).clamp_min(0).sqrt()
        return SpanStep(left, rows, x.new_tensor(alpha * decay), step.whole, size.to(x.dtype))

    def descend(self, step: SpanStep, kept: float, rate: float) -> None:
        """Takes the step into the momentum and moves the weights by it."""
        self.momentum.v.addmm_(step.left.T, step.rows, beta=kept).add_(self.weights.v, alpha=float(step.share))
        torch.add(step.tail, self.momentum.tail, alpha=kept, out=self.momentum.tail)
        self.weights.whole.sub_(self.momentum.whole, alpha=rate)

    def finish(self, momentum: LayerStep) -> None:
        """Writes weights and momentum back."""
        self.weights.write_to(self.source.weight.data, self.source.bias.data, self.q)
        self.momentum.write_to(momentum.weight, momentum.bias, self.q)


def square(values: Tensor) -> Tensor:
    """Sum of squares, in double precision at the end."""
    return torch.linalg.vector_norm(values).double() ** 2


def times_rows(matrix: Tensor, last: Tensor, rows: Tensor) -> Tensor:
    """[matrix | last] (m, p) times rows (n, p), transposed: (m, n).

    Computed in this order because n, say 15, as the last dimension of a product more than doubles its time.
    """
    return torch.addr((rows[:, :-1] @ matrix.T).T, last, rows[:, -1])
