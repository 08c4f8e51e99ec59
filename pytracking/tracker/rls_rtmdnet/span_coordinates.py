"""fc4 during a stage, in coordinates in which multiplying by P costs little: exact, and without a p x p matrix.

An input x ends with a constant 1, whose weight is the bias; W (o, p) is [weight | bias]. When the stage begins,
P_0 = alpha (I - QᵀQ) + QᵀSQ, where Q (r, p) spans earlier inputs. The weights are held as W = V + K Q, with K = 0 at
first, and each sample x gets its coordinates h = Q x as further inputs. Then V x + K h = W x, so [V | K] is an ordinary
layer on the inputs [x | h], and its gradient is [g | g Qᵀ]. With C = W Qᵀ, Y = g Qᵀ + d C, B = Y - d K and
Z = Y S / alpha, the gradient with decay d, multiplied by P_0, is

    (g + d W) P_0 = alpha (g + d V) + alpha (Z - B) Q,

that is, in units of alpha, g + d V for V, Z - B for K, and Z for C, because P_0 Qᵀ = Qᵀ S. So the long rows of Q are
multiplied with each sample once, not with the weights in every mini-batch. The stage's own few virtual inputs
X = D + H Q, with D orthogonal to Q, change P_0 to

    P_n = P_0 - P_0 Xᵀ (I + X P_0 Xᵀ)⁻¹ X P_0,   where   X P_0 = alpha (D + F Q)   and   F = H S / alpha.

So with L = [g + d V | Z] [D | H]ᵀ (I / alpha + [D | F] [D | H]ᵀ)⁻¹, L [D | F] is subtracted from [g + d V | Z].
P learns X at the end of the stage, in one pass over Q. If beta < 1, this P_n is of inputs x_j / beta^(j/2), and still
has to be divided by betaⁿ. As B is the step of V times Qᵀ, the whole step's norm² is |V|² + |Z - B|² + 2 <B, Z - B>.

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
from rls_ext import InverseCorrelation, virtual_input_linear
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
        """The matrix itself, (o, p), which then is V, with K = 0."""
        self.v.add_(product(self.k[:, : len(self.basis)], self.basis.contiguous())).mul_(self.unit)
        self.k.zero_()
        return self.v


@dataclass(slots=True)
class SpanStep:
    """A change of the weights, which is ``factor`` times the two parts.

    Attributes:
        joined: change of [V | K], (o, p + room).
        c: change of C, (o, room).
        size: norm of the change before it is multiplied by ``factor``.
    """

    joined: Tensor
    c: Tensor
    size: Tensor
    factor: Tensor | float

    def norm(self) -> Tensor:
        """Root of the sum of squares."""
        return self.size * self.factor

    def scale(self, factor: Tensor) -> None:
        """Multiplies the change, without a pass over its parts."""
        self.factor = factor * self.factor

    def add(self, weights: SpanMatrix, factor: float) -> None:
        """Adds a multiple of the weights."""
        share = float(factor / self.factor)
        self.joined.add_(weights.joined, alpha=share)
        self.c.add_(weights.c, alpha=share)


class SpanStage:
    """One layer during one stage.

    Args:
        layer: its weights and bias are exchanged for V, K and C until :meth:`finish`.
        left: the layer as the last such stage left it, if Q has only grown since; it is used again as long as the layer
            is the same.
        momentum: of the stage; :meth:`finish` leaves the layer's part of it in the form that the next stage needs.
        inverse: P; it learns the stage's virtual inputs in :meth:`finish`, and until then must only append rows to Q.
        count: number of the stage's mini-batches, each with one virtual input.
    """

    def __init__(
        self, layer: nn.Linear, left: SpanMatrix | None, momentum: Momentum, inverse: InverseCorrelation, count: int
    ) -> None:
        factors = inverse.factors()
        self.source, self.inverse, self.basis, self.alpha = layer, inverse, factors.basis, factors.alpha
        self.rank, p = self.basis.shape
        self.room = -(-(p + self.rank + count) // ROOM_STEP) * ROOM_STEP - p
        self.core = pad(factors.core / self.alpha, (0, self.room - self.rank) * 2)  # S / alpha
        self.features = self.basis[:, :-1].contiguous()  # the constant input's part of coordinates is a bias
        self.x, self.seen = self.basis.new_zeros(count, p), 0  # X, of which the first ``seen`` rows are known
        self.d_h, self.d_f = (self.basis.new_zeros(count, p + self.room) for _ in range(2))  # [D | H], [D | F]
        if left is None or not (torch.equal(left.v[:, :-1], layer.weight) and torch.equal(left.v[:, -1], layer.bias)):
            left = SpanMatrix.of(torch.cat([layer.weight.data, layer.bias.data[:, None]], dim=1), self.basis, self.room)
        if not isinstance(momentum.first, SpanMatrix):
            momentum.first = SpanMatrix.of(momentum.sums[0].whole, self.basis, self.room)
        self.weights, self.momentum = left, momentum.first
        for matrix in (self.weights, self.momentum):
            matrix.make_room(self.room)
        self.layer = nn.Linear(1, 1, bias=False, device="meta")
        self.layer.weight = nn.Parameter(self.weights.joined, requires_grad=False)

    def with_coordinates(self, samples: SampleSet) -> SpanSamples:
        """The same samples with their coordinates in Q; those of earlier stages still hold, as Q only grows."""
        table, derived = samples.table, samples.derived
        kept = table.new_empty(len(table), 0) if derived.values is None else derived.values
        if kept.shape[1] < self.room:
            derived.values = kept = pad(kept, (0, self.room + self.room // 4 - kept.shape[1]))
        size = len(table) // len(derived.known)
        used = enumerate((samples.rows // size).unique().tolist())
        for (known, _), run in groupby(used, lambda pair: (derived.known[pair[1]], pair[1] - pair[0])):
            blocks = [block for _, block in run]  # neighbours of which the same columns are known
            rows = slice(blocks[0] * size, (blocks[-1] + 1) * size)
            kept[rows, known : self.rank] = product(table[rows], self.features[known:].T, self.basis[known:, -1])
            for block in blocks:
                derived.known[block] = self.rank
        return SpanSamples(table, samples.rows, derived, coordinates=kept[:, : self.room])

    def step(self, gradient: LayerGradient, decay: float) -> SpanStep:
        """(g + decay W) P for the gradient g of a mini-batch, after P has seen the mini-batch's virtual input."""
        weights, p = self.weights, self.basis.shape[1]
        inverse = self._see(virtual_input_linear(gradient.inputs, bias=False))  # the inputs end with the 1 and Q x
        joined = product(gradient.outputs.T, gradient.inputs)  # [g | g Qᵀ], (o, p + room)
        v, k = joined[:, :p], joined[:, p:]
        v.add_(weights.v, alpha=decay)
        y = torch.add(k, weights.c, alpha=decay)  # (o, room)
        k.copy_(product(y, self.core))
        joined.addmm_(product(joined, self.d_h.T) @ inverse, self.d_f, alpha=-1)
        z, b = k.clone(), y.sub_(weights.k, alpha=decay)
        inner = (b * k.sub_(b)).sum()
        rows = torch.linalg.vector_norm(joined, dim=1).double()  # the sum is much smaller than its terms: a norm of
        size = (rows.square().sum() + 2 * inner).clamp_min(0).sqrt()  # all in single precision would be too rough
        return SpanStep(joined, z, size.to(joined.dtype), self.alpha / self.inverse.beta**self.seen)

    def _see(self, mean: Tensor) -> Tensor:
        """Takes in a virtual input [x | h]; returns (I / alpha + [D | F] [D | H]ᵀ)⁻¹, (t, t)."""
        p, row = self.basis.shape[1], self.seen
        self.x[row], self.seen = mean[:p], row + 1
        mean = mean / self.inverse.beta ** (self.seen / 2)
        d, h = mean[:p] - mean[p : p + self.rank] @ self.basis, mean[p:]
        self.d_h[row], self.d_f[row] = torch.cat([d, h]), torch.cat([d, h @ self.core])
        system = self.d_f.double() @ self.d_h.double().T
        system.diagonal().add_(1 / self.alpha)
        return torch.linalg.inv(system).to(mean.dtype)

    def descend(self, step: SpanStep, kept: float, rate: float) -> None:
        """Takes the step into the momentum and moves the weights by it."""
        total = self.momentum
        kept = float(kept * total.unit / step.factor)
        total.unit = float(step.factor)
        joined, c = (self.weights.joined, total.joined, step.joined), (self.weights.c, total.c, step.c)
        for weights, part, change in (joined, c):
            torch.add(change, part, alpha=kept, out=part)
            weights.sub_(part, alpha=rate * total.unit)

    def finish(self) -> SpanMatrix:
        """Updates P and writes the weights back; the same for the next stage."""
        together = self.inverse.beta == 1 and self.seen > 0  # a block is forgotten from only once
        for inputs in self.x[None, : self.seen] if together else self.x[: self.seen]:
            self.inverse.update(inputs)
        basis = self.inverse.factors().basis
        new = pad(basis[self.rank :], (0, self.room))
        for matrix in (self.weights, self.momentum):
            matrix.c[:, self.rank : len(basis)] = product(matrix.joined, new.T)
            matrix.basis = basis
        whole = self.weights.total()
        self.source.weight.data.copy_(whole[:, :-1])
        self.source.bias.data.copy_(whole[:, -1])
        return self.weights
