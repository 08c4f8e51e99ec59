"""From a mini-batch's gradients to the change of the weights: clipping, decay, momentum."""
from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

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


class Momentum:
    """Exponentially fading sums of the steps, and the change of the weights by them."""

    def __init__(self, layers: list[nn.Linear], kept: float) -> None:
        self.layers = layers
        self.kept = kept
        self._sums: list[LayerStep] = []

    def reset(self) -> None:
        """Forgets all steps taken."""
        self._sums = []

    @torch.no_grad()
    def descend(self, steps: list[LayerStep], rates: list[float]) -> None:
        """Takes the steps in, then moves each layer by its rate."""
        if not self._sums:
            self._sums = [LayerStep.zeros(layer) for layer in self.layers]
        for layer, step, total, rate in zip(self.layers, steps, self._sums, rates, strict=True):
            torch.add(step.whole, total.whole, alpha=self.kept, out=total.whole)
            layer.weight.data.sub_(total.weight, alpha=rate)
            layer.bias.data.sub_(total.bias, alpha=rate)


class PlainDescent:
    """The gradient, clipped, plus the decay of the weights.

    Args:
        layers: what is trained.
        params: the limit of the gradients' norm, and the coefficient of the decay.
        buffers: memory for the steps, used again for every mini-batch; new memory by default.
    """

    def __init__(
        self, layers: list[nn.Linear], params: RtmdnetParams, buffers: list[LayerStep] | None = None
    ) -> None:
        self.layers = layers
        self.params = params
        self.buffers = buffers or [LayerStep.zeros(layer) for layer in layers]

    def begin_stage(self) -> None:
        """Called before the first mini-batch of a stage."""

    def end_stage(self) -> None:
        """Called after the last mini-batch of a stage."""

    def abandon_stage(self) -> None:
        """Called instead of ``end_stage`` where the stage is to leave no trace."""

    @torch.no_grad()
    def steps(self, gradients: list[LayerGradient]) -> list[LayerStep]:
        """The steps of all layers for one mini-batch; the next call overwrites them."""
        steps = self._joined(gradients)
        clip_together(steps, self.params.gradient_clip)
        self._add_decay(steps)
        return steps

    def _joined(self, gradients: list[LayerGradient]) -> list[LayerStep]:
        """The gradients themselves, in the buffers."""
        for gradient, step in zip(gradients, self.buffers, strict=True):
            torch.mm(gradient.outputs.T, gradient.inputs, out=step.weight)
            torch.sum(gradient.outputs, dim=0, out=step.bias)
        return self.buffers

    def _add_decay(self, steps: list[LayerStep]) -> None:
        for step, layer in zip(steps, self.layers, strict=True):
            step.weight.add_(layer.weight.data, alpha=self.params.weight_decay)
            step.bias.add_(layer.bias.data, alpha=self.params.weight_decay)


def clip_together(steps: list[LayerStep], limit: float) -> Tensor:
    """Scales all steps, in place, so that their common norm is at most ``limit``; by which factor."""
    norm = torch.linalg.vector_norm(torch.stack([torch.linalg.vector_norm(step.whole) for step in steps]))
    factor = (limit / (norm + NORM_GUARD)).clamp(max=1)
    for step in steps:
        step.whole.mul_(factor)
    return factor
