"""The layers that learn online: fc4, fc5 and fc6, with their gradients as factors.

The gradient of a linear layer over a mini-batch of b rows is the product of two matrices with b rows, the derivatives
of the loss by the layer's outputs and the layer's inputs. Both are kept apart here, because the step may change
the b input rows (recursive least squares does) rather than the hundred times larger product.
"""
from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from rls_ext.products import product


@dataclass(frozen=True, slots=True)
class LayerGradient:
    """What one layer's gradient is made of.

    Attributes:
        inputs: the layer's inputs, after dropout, (b, d).
        raw_inputs: the same before dropout.
        outputs: derivative of the loss by the layer's outputs, (b, o); the weight's gradient is outputsᵀ inputs.
    """

    inputs: Tensor
    raw_inputs: Tensor
    outputs: Tensor


class ClassifierHead:
    """The last three layers of the network: rectified linear layers with dropout before the second and third.

    Args:
        layers: the network's own linear layers; they are trained in place.
        dropout: probability that an input of the second or third layer is dropped in training.
    """

    def __init__(self, layers: list[nn.Linear], dropout: float, generator: torch.Generator | None = None) -> None:
        self.layers = layers
        self.dropout = dropout
        self.generator = generator

    def scores(self, features: Tensor) -> Tensor:
        """Each sample's target logit (n,), without dropout."""
        return self.scores_of(self.first_outputs(features))

    @torch.no_grad()
    def first_outputs(self, features: Tensor) -> Tensor:
        """Rectified outputs of the first layer, (n, o)."""
        return torch.relu_(outputs_of(self.layers[0], features))

    @torch.no_grad()
    def scores_of(self, hidden: Tensor) -> Tensor:
        """The same as ``scores``, from the first layer's rectified outputs (n, o)."""
        for layer in self.layers[1:-1]:
            hidden = torch.relu_(outputs_of(layer, hidden))
        return torch.addmv(self.layers[-1].bias[1], hidden, self.layers[-1].weight[1])

    @torch.no_grad()
    def gradients(
        self, features: Tensor, labels: Tensor, known: Tensor | None = None
    ) -> tuple[list[LayerGradient], Tensor]:
        """One pass forward and one backward.

        Args:
            features: (b, d).
            labels: 1 for the target, 0 for the background, int64 (b,).
            known: the first layer's rectified outputs, where they have been computed already.

        Returns:
            The gradient of each layer, first layer first, and the mean cross entropy.
        """
        raw, kept, masks = [], [], []
        hidden = features
        for number, layer in enumerate(self.layers):
            mask = self._dropout_mask(hidden) if number > 0 and self.dropout > 0 else None
            raw.append(hidden)
            kept.append(hidden if mask is None else hidden * mask)
            masks.append(mask)
            if number == 0 and known is not None:
                hidden = known
                continue
            hidden = outputs_of(layer, kept[-1])
            if number < len(self.layers) - 1:
                hidden = torch.relu_(hidden)
        loss = nn.functional.cross_entropy(hidden, labels)
        outputs = hidden.softmax(dim=1)
        outputs[torch.arange(len(labels), device=labels.device), labels] -= 1
        outputs /= len(labels)
        gradients = []
        for number in reversed(range(len(self.layers))):
            gradients.append(LayerGradient(kept[number], raw[number], outputs))
            if number > 0:
                outputs = product(outputs, self.layers[number].weight) * (raw[number] > 0)
                if masks[number] is not None:
                    outputs *= masks[number]
        return gradients[::-1], loss

    def _dropout_mask(self, hidden: Tensor) -> Tensor:
        draws = torch.rand(hidden.shape, generator=self.generator, dtype=torch.float32)
        return (draws >= self.dropout).to(device=hidden.device, dtype=hidden.dtype) / (1 - self.dropout)


def outputs_of(layer: nn.Linear, inputs: Tensor) -> Tensor:
    """A layer's outputs (n, o) for inputs (n, d)."""
    return product(inputs, layer.weight.T, layer.bias)
