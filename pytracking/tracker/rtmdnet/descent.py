"""From a mini-batch's gradients to the change of the weights: clipping, decay, momentum."""
from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from pytracking.tracker.rtmdnet.head import LayerGradient

NORM_GUARD = 1e-6  # added to the norm before division, as torch.nn.utils.clip_grad_norm_ does


@dataclass(slots=True)
class LayerStep:
    """A descent direction: weight (o, d) and bias (o,), and the one matrix they are parts of, if they are."""

    weight: Tensor
    bias: Tensor
    joined: Tensor | None = None  # (o, d + 1 or more), zero where neither weight nor bias is

    @classmethod
    def of(cls, joined: Tensor, inputs: int) -> LayerStep:
        """The parts of a matrix with a column for each input, then the bias, then any number of zeros."""
        return cls(joined[:, :inputs], joined[:, inputs], joined)

    def wholes(self) -> list[Tensor]:
        """All numbers, in as few and contiguous tensors as possible."""
        return [self.weight, self.bias] if self.joined is None else [self.joined]

    def scale(self, factor: Tensor) -> None:
        """Multiplies both by a number, in place."""
        for whole in self.wholes():
            whole.mul_(factor)

    def add(self, weight: Tensor, bias: Tensor, factor: float) -> None:
        """Adds a multiple of something, in place."""
        self.weight.add_(weight, alpha=factor)
        self.bias.add_(bias, alpha=factor)


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
            parameters = [(layer.weight.data, layer.bias.data) for layer in self.layers]
            self._sums = [LayerStep(torch.zeros_like(weight), torch.zeros_like(bias)) for weight, bias in parameters]
        for layer, step, total, rate in zip(self.layers, steps, self._sums, rates, strict=True):
            torch.add(step.weight, total.weight, alpha=self.kept, out=total.weight)
            torch.add(step.bias, total.bias, alpha=self.kept, out=total.bias)
            layer.weight.data.sub_(total.weight, alpha=rate)
            layer.bias.data.sub_(total.bias, alpha=rate)


class PlainDescent:
    """The gradient, clipped, plus the decay of the weights.

    Args:
        layers: what is trained.
        clip: largest norm of all layers' gradients together.
        weight_decay: coefficient of the weights themselves.
    """

    def __init__(self, layers: list[nn.Linear], clip: float, weight_decay: float) -> None:
        self.layers = layers
        self.clip = clip
        self.weight_decay = weight_decay
        self._buffers = [torch.empty_like(layer.weight.data) for layer in layers]  # every mini-batch uses them again

    def share_memory(self, buffers: list[Tensor]) -> None:
        """Steps go to the first part of these buffers from now on, one a layer."""
        self._buffers = [
            buffer.flatten()[: layer.weight.numel()].view_as(layer.weight)
            for buffer, layer in zip(buffers, self.layers, strict=True)
        ]

    def begin_stage(self, negatives: int) -> None:
        """Called before the first mini-batch of a stage that draws from so many negatives."""

    def end_stage(self) -> None:
        """Called after the last mini-batch of a stage."""

    def abandon_stage(self) -> None:
        """Called instead of ``end_stage`` where the stage is to leave no trace."""

    @torch.no_grad()
    def steps(self, gradients: list[LayerGradient], negatives: Tensor) -> list[LayerStep]:
        """The steps of all layers for one mini-batch.

        Args:
            gradients: of each layer.
            negatives: which of the stage's negatives are the last rows of the mini-batch, int64.
        """
        steps = [
            LayerStep(torch.mm(gradient.outputs.T, gradient.inputs, out=buffer), gradient.outputs.sum(dim=0))
            for gradient, buffer in zip(gradients, self._buffers, strict=True)
        ]
        clip_together(steps, self.clip)
        self._add_plain_decay(steps)
        return steps

    def _add_plain_decay(self, steps: list[LayerStep]) -> None:
        for step, layer in zip(steps, self.layers, strict=True):
            step.add(layer.weight.data, layer.bias.data, self.weight_decay)


def clip_together(steps: list[LayerStep], limit: float) -> None:
    """Scales all steps, in place, so that their common norm is at most ``limit``."""
    norms = [torch.linalg.vector_norm(part) for step in steps for part in step.wholes()]
    factor = clip_factor(torch.linalg.vector_norm(torch.stack(norms)), limit)
    for step in steps:
        step.scale(factor)


def clip_factor(norm: Tensor, limit: float) -> Tensor:
    """What brings a norm down to ``limit``: 1 where it is below."""
    return (limit / (norm + NORM_GUARD)).clamp(max=1)
