"""Turns a mini-batch's gradients into weight changes: clipping, decay and momentum."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor, nn

from pytracking.tracker.rtmdnet.frame_memory import SampleSet
from pytracking.tracker.rtmdnet.head import LayerGradient
from pytracking.tracker.rtmdnet.params import RtmdnetParams
from rls_ext.products import product

NORM_GUARD = 1e-6  # added to the norm before division, as torch.nn.utils.clip_grad_norm_ does


@dataclass(frozen=True, slots=True)
class LayerStep:
    """A change of one layer's weight and bias as one matrix.

    Attributes:
        whole: [weight | bias], (o, d + 1).
    """

    whole: Tensor

    @classmethod
    def of(cls, gradient: LayerGradient) -> LayerStep:
        """The gradient of a layer's weight and bias; the bias is the weight of an additional constant input 1."""
        return cls(product(gradient.outputs.T, with_constant(gradient.inputs)))

    @property
    def weight(self) -> Tensor:  # (o, d)
        return self.whole[:, :-1]

    @property
    def bias(self) -> Tensor:  # (o,)
        return self.whole[:, -1]

    def add(self, layer: nn.Linear, factor: float) -> None:
        """Adds the layer's weight and bias, multiplied by ``factor``."""
        self.weight.add_(layer.weight.data, alpha=factor)
        self.bias.add_(layer.bias.data, alpha=factor)

    def norm(self) -> Tensor:
        """Euclidean norm of the change."""
        return torch.linalg.vector_norm(self.whole)

    def scale(self, factor: Tensor) -> None:
        """Multiplies the change, in place."""
        self.whole.mul_(factor)


class Momentum:
    """Exponentially decaying sums of the steps."""

    def __init__(self, layers: list[nn.Linear], kept: float) -> None:
        self.layers = layers
        self.kept = kept
        self._sums: list[LayerStep] = []
        self.first: SumInParts | None = None  # the first layer's sum, if the last stage left it in factors

    @property
    def sums(self) -> list[LayerStep]:
        """One sum per layer, zero before the first step."""
        if not self._sums:
            sizes = [(layer.out_features, layer.in_features + 1) for layer in self.layers]
            self._sums = [LayerStep(self.layers[0].weight.new_zeros(size)) for size in sizes]
        return self._sums

    def write_out(self) -> None:
        """Converts the first layer's sum to a plain matrix."""
        if self.first is not None:
            self.sums[0].whole.copy_(self.first.total())
            self.first = None

    def reset(self) -> None:
        """Forgets all steps."""
        self._sums, self.first = [], None


class SumInParts(Protocol):
    """A matrix held in factors."""

    def total(self) -> Tensor:
        """The matrix, (o, d + 1)."""


class PlainDescent:
    """Steps along the clipped gradient plus weight decay."""

    def __init__(self, layers: list[nn.Linear], params: RtmdnetParams) -> None:
        self.layers = layers
        self.params = params
        self.momentum = Momentum(layers, params.momentum)

    def begin_stage(self, momentum: Momentum, samples: list[SampleSet], mini_batches: int) -> list[SampleSet]:
        """Called before a stage's first mini-batch; returns the samples in the form its mini-batches take."""
        momentum.write_out()
        self.momentum = momentum
        return samples

    def end_stage(self) -> None:
        """Called after a stage's last mini-batch; afterwards the layers hold the result."""

    def abandon_stage(self) -> None:
        """Undoes the stage's changes of this object; called before or after ``end_stage``."""

    @torch.no_grad()
    def descend(self, gradients: list[LayerGradient], rates: list[float]) -> None:
        """Processes one mini-batch: adds the steps to the momentum, then moves each layer at its rate."""
        for number, (step, rate) in enumerate(zip(self.steps(gradients), rates, strict=True)):
            self._move(number, step, rate)

    def _move(self, number: int, step: LayerStep, rate: float) -> None:
        layer, total = self.layers[number], self.momentum.sums[number]
        torch.add(step.whole, total.whole, alpha=self.momentum.kept, out=total.whole)
        layer.weight.data.sub_(total.weight, alpha=rate)
        layer.bias.data.sub_(total.bias, alpha=rate)

    @torch.no_grad()
    def steps(self, gradients: list[LayerGradient]) -> list[LayerStep]:
        """Returns the steps of all layers for one mini-batch."""
        steps = [LayerStep.of(gradient) for gradient in gradients]
        clip_together(steps, self.params.gradient_clip)
        self._add_decay(steps)
        return steps

    def _add_decay(self, steps: list[LayerStep]) -> None:
        for step, layer in zip(steps, self.layers, strict=True):
            step.add(layer, self.params.weight_decay)


def with_constant(inputs: Tensor) -> Tensor:
    """A layer's inputs (n, d) with an additional constant input 1: (n, d + 1)."""
    return nn.functional.pad(inputs, (0, 1), value=1.0)


def clip_together(steps: list[LayerStep], limit: float) -> None:
    """Scales all steps in place so that their joint norm is at most ``limit``."""
    norm = torch.linalg.vector_norm(torch.stack([step.norm() for step in steps]))
    factor = (limit / (norm + NORM_GUARD)).clamp(max=1)
    for step in steps:
        step.scale(factor)
