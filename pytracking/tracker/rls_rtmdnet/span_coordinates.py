"""fc4 during a stage, in coordinates in which multiplying by P costs little: exact, and without a p x p matrix.

P = alpha (I - QᵀQ) + QᵀSQ, where Q (r, p) spans the inputs of earlier mini-batches. The weights are held as
W = V + K Q, with K = 0 when the stage begins, and each sample x gets its coordinates h = Q x as further inputs, once
per stage. Then V x + K h = W x, so [V | K] is an ordinary layer on the inputs [x | h], and its gradient is [g | g Qᵀ].
With C = W Qᵀ, Y = g Qᵀ + d C and Z = Y S, the gradient with decay d, multiplied by P, is

    (g + d W) P = alpha (g + d V) + (Z - alpha (Y - d K)) Q,

that is alpha (g + d V) for V, Z - alpha (Y - d K) for K, and Z for C, because P Qᵀ = Qᵀ S. So the long rows of Q are
multiplied with the samples once per stage, not with the weights in every mini-batch. Rows that the stage itself appends
to Q are few; what belongs to them goes to V at once.
"""
from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from pytracking.tracker.rtmdnet.descent import LayerStep
from pytracking.tracker.rtmdnet.frame_memory import SampleSet
from pytracking.tracker.rtmdnet.head import LayerGradient
from rls_ext import InverseCorrelation, PFactors
from rls_ext.basis import aligned_length


@dataclass(frozen=True, slots=True)
class SpanSamples(SampleSet):
    """Samples as rows [x | 1 | 0 | h | 0]: features, the bias's input, and coordinates in Q.

    Attributes:
        coordinates: h of each row of the table, (rows, r).
        start: column in which h starts.
        width: columns of a row, h filled up to whole cache lines.
    """

    coordinates: Tensor
    start: int
    width: int

    def empty(self, count: int) -> Tensor:
        rows = self.table.new_zeros(count, self.width)
        rows[:, self.table.shape[1]] = 1
        return rows

    def take(self, positions: Tensor, out: Tensor | None = None) -> Tensor:
        taken = self.empty(len(positions)) if out is None else out
        rows = self.rows[positions]
        torch.index_select(self.table, 0, rows, out=taken[:, : self.table.shape[1]])
        end = self.start + self.coordinates.shape[1]
        torch.index_select(self.coordinates, 0, rows, out=taken[:, self.start : end])
        return taken


@dataclass(frozen=True, slots=True)
class SpanStep(LayerStep):
    """Weights, or a change of them, as [V | K | C]: V + K Q, and its product C with Qᵀ.

    Attributes:
        rank: rows r of Q.
    """

    rank: int

    @classmethod
    def of(cls, joined: Tensor, q: Tensor) -> SpanStep:
        """[weight | bias] (o, p) with all of it in V."""
        start = aligned_length(joined.shape[1], joined.dtype)
        width = start + 2 * aligned_length(len(q), q.dtype)
        step = cls(joined.new_zeros(len(joined), width), joined.shape[1] - 1, len(q))
        step.joined.copy_(joined)
        torch.mm(step.joined, q.T, out=step.c)  # rows of whole cache lines, which those of `joined` may not be
        return step

    @property
    def start(self) -> int:
        """Column of K."""
        return aligned_length(self.inputs + 1, self.whole.dtype)

    @property
    def width(self) -> int:
        """Columns of [V | K], the layer's inputs."""
        return (self.whole.shape[1] + self.start) // 2

    @property
    def v(self) -> Tensor:
        return self.whole[:, : self.start]

    @property
    def k(self) -> Tensor:  # (o, r)
        return self.whole[:, self.start : self.start + self.rank]

    @property
    def c(self) -> Tensor:  # (o, r)
        return self.whole[:, self.width : self.width + self.rank]

    def norm(self) -> Tensor:
        """Of V + K Q: |V|² + |C|² - |C - K|², as V Qᵀ = C - K; |V|² comes from the whole, which is contiguous."""
        parts = [torch.linalg.vector_norm(part).double() for part in (self.whole, self.k, self.c - self.k)]
        return (parts[0] ** 2 - parts[1] ** 2 - parts[2] ** 2).clamp_min(0).sqrt().to(self.whole.dtype)

    def fold(self, q: Tensor) -> Tensor:
        """[weight | bias] = V + K Q, (o, p)."""
        return torch.addmm(self.joined, self.k, q, out=self.joined)


class SpanStage:
    """One layer during one stage.

    Args:
        layer: its weights and bias are exchanged for [V | K | C] until :meth:`finish`.
        momentum: the fading sum of the layer's steps.
        factors: of the layer's P when the stage begins.
    """

    def __init__(self, layer: nn.Linear, momentum: LayerStep, factors: PFactors) -> None:
        self.source, self.q = layer, factors.basis
        joined = torch.cat([layer.weight.data, layer.bias.data[:, None]], dim=1)
        self.weights = SpanStep.of(joined, self.q)
        self.momentum = SpanStep.of(momentum.joined, self.q)
        self._step = SpanStep(torch.zeros_like(self.weights.whole), layer.in_features, len(self.q))
        self.layer = nn.Linear(1, 1, bias=False, device="meta")
        self.layer.weight = nn.Parameter(self.weights.whole[:, : self.weights.width], requires_grad=False)

    def with_coordinates(self, samples: SampleSet) -> SpanSamples:
        """The same samples with their coordinates in Q."""
        used = samples.table[: int(samples.rows.max()) + 1]
        coordinates = used.new_empty(len(used), aligned_length(len(self.q), used.dtype))[:, : len(self.q)]
        torch.addmm(self.q[:, -1], used, self.q[:, :-1].T, out=coordinates)
        return SpanSamples(samples.table, samples.rows, coordinates, self.weights.start, self.weights.width)

    def gradient(self, gradient: LayerGradient) -> SpanStep:
        """The gradient g as V, in the memory of the stage's steps."""
        step = self._step
        torch.mm(gradient.outputs.T, gradient.inputs, out=step.whole[:, : step.width])  # [g | g Qᵀ]
        step.c.copy_(step.k)
        step.k.zero_()
        return step

    def precondition(self, inverse: InverseCorrelation, decay: float) -> None:
        """Turns the gradient g in place into (g + decay W) P."""
        step, weights, factors = self._step, self.weights, inverse.factors()
        alpha, appended = factors.alpha, factors.basis[step.rank :]  # (t, p)
        if decay:
            step.whole.add_(weights.whole, alpha=decay)
        y = torch.cat([step.c, (appended @ step.joined.T).T], dim=1)  # (o, r + t)
        z = y @ factors.core
        change = torch.add(z, y, alpha=-alpha)
        torch.addmm(step.joined, change[:, step.rank :], appended, beta=alpha, out=step.joined)
        torch.add(change[:, : step.rank], step.k, alpha=alpha, out=step.k)
        step.c.copy_(z[:, : step.rank])

    def descend(self, step: SpanStep, kept: float, rate: float) -> None:
        """Takes the step into the momentum and moves the weights by it."""
        torch.add(step.whole, self.momentum.whole, alpha=kept, out=self.momentum.whole)
        self.weights.whole.sub_(self.momentum.whole, alpha=rate)

    def finish(self, momentum: LayerStep) -> None:
        """Writes weights and momentum back."""
        joined = self.weights.fold(self.q)
        self.source.weight.data.copy_(joined[:, :-1])
        self.source.bias.data.copy_(joined[:, -1])
        momentum.joined.copy_(self.momentum.fold(self.q))
