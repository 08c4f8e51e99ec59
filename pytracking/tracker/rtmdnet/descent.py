"""From a mini-batch's gradients to the change of the weights: clipping, decay, momentum."""
from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from pytracking.tracker.rtmdnet.frame_memory import SampleSet
from pytracking.tracker.rtmdnet.head import LayerGradient
from pytracking.tracker.rtmdnet.params import RtmdnetParams
from rls_ext.basis import aligned_length

NORM_GUARD = 1e-6  # added to the norm before division, as torch.nn.utils.clip_grad_norm_ does


@dataclass(frozen=True, slots=True)
class LayerStep:
    """A change of one layer's weight and bias, as one matrix.

    Attributes:
        whole: (o, width): a column per input, then the bias, then zeros that fill rows up to whole cache lines.
        inputs: the layer's number of inputs d.
    """

    whole: Tensor
    inputs: int

    @classmethod
    def zeros(cls, layer: nn.Linear) -> LayerStep:
        """No change, in memory of its own."""
        width = aligned_length(layer.in_features + 1, layer.weight.dtype)
        return cls(layer.weight.new_zeros(layer.out_features, width), layer.in_features)

    @property
    def weight(self) -> Tensor:  # (o, d)
        return self.whole[:, : self.inputs]

    @property
    def bias(self) -> Tensor:  # (o,)
        return self.whole[:, self.inputs]

    @property
    def joined(self) -> Tensor:
        """[weight | bias], (o, d + 1)."""
        return self.whole[:, : self.inputs + 1]

    def add(self, layer: nn.Linear, factor: float) -> None:
        """Adds a multiple of a layer's weight and bias."""
        self.weight.add_(layer.weight.data, alpha=factor)
        self.bias.add_(layer.bias.data, alpha=factor)

    def norm(self) -> Tensor:
        """Root of the sum of squares."""
        return torch.linalg.vector_norm(self.whole)

    def scale(self, factor: Tensor) -> None:
        """Multiplies the change, in place."""
        self.whole.mul_(factor)


class Momentum:
    """Exponentially fading sums of the steps."""

    def __init__(self, layers: list[nn.Linear], kept: float) -> None:
        self.layers = layers
        self.kept = kept
        self._sums: list[LayerStep] = []

    @property
    def sums(self) -> list[LayerStep]:
        """One per layer, zero before the first step."""
        if not self._sums:
            self._sums = [LayerStep.zeros(layer) for layer in self.layers]
        return self._sums

    def reset(self) -> None:
        """Forgets all steps taken."""
        self._sums = []


class PlainDescent:
    """The gradient, clipped, plus the decay of the weights.

    Args:
        buffers: memory for the steps, used again for every mini-batch; new memory by default.
    """

    def __init__(
        self, layers: list[nn.Linear], params: RtmdnetParams, buffers: list[LayerStep] | None = None
    ) -> None:
        self.layers = layers
        self.params = params
        self.buffers = buffers or [LayerStep.zeros(layer) for layer in layers]
        self.momentum = Momentum(layers, params.momentum)

    def begin_stage(self, momentum: Momentum, samples: list[SampleSet], mini_batches: int) -> list[SampleSet]:
        """Called before the first mini-batch of a stage; the samples as this stage's mini-batches take them."""
        self.momentum = momentum
        return samples

    def end_stage(self) -> None:
        """Called after the last mini-batch of a stage: the layers hold the result."""

    def abandon_stage(self) -> None:
        """Called where the stage is to leave no trace in what this object keeps, before or after ``end_stage``."""

    @torch.no_grad()
    def descend(self, gradients: list[LayerGradient], rates: list[float]) -> None:
        """One mini-batch: takes the steps into the momentum, then moves each layer by its rate."""
        for number, (step, rate) in enumerate(zip(self.steps(gradients), rates, strict=True)):
            self._move(number, step, rate)

    def _move(self, number: int, step: LayerStep, rate: float) -> None:
        layer, total = self.layers[number], self.momentum.sums[number]
        torch.add(step.whole, total.whole, alpha=self.momentum.kept, out=total.whole)
        layer.weight.data.sub_(total.weight, alpha=rate)
        layer.bias.data.sub_(total.bias, alpha=rate)

    @torch.no_grad()
    def steps(self, gradients: list[LayerGradient]) -> list[LayerStep]:
        """The steps of all layers for one mini-batch; the next call overwrites them."""
        steps = joined(gradients, self.buffers)
        clip_together(steps, self.params.gradient_clip)
        self._add_decay(steps)
        return steps

    def _add_decay(self, steps: list[LayerStep]) -> None:
        for step, layer in zip(steps, self.layers, strict=True):
            step.add(layer, self.params.weight_decay)


def joined(gradients: list[LayerGradient], out: list[LayerStep]) -> list[LayerStep]:
    """The gradients of weights and biases, written to ``out``."""
    for gradient, step in zip(gradients, out, strict=True):
        torch.mm(gradient.outputs.T, gradient.inputs, out=step.weight)
        torch.sum(gradient.outputs, dim=0, out=step.bias)
    return out


def clip_together(steps: list[LayerStep], limit: float) -> Tensor:
    """Scales all steps, in place, so that their common norm is at most ``limit``; by which factor."""
    norm = torch.linalg.vector_norm(torch.stack([step.norm() for step in steps]))
    factor = (limit / (norm + NORM_GUARD)).clamp(max=1)
    for step in steps:
        step.scale(factor)
    return factor
