"""The layers that learn online, fc4, fc5 and fc6, with their gradients as factors.

A linear layer's gradient over a mini-batch of b rows is the product of two matrices with b rows: the loss's derivatives
with respect to the layer's outputs, and the layer's inputs. The factors are kept separate because a step may transform
the b input rows (as recursive least squares does) instead of the hundred times larger product.
"""
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from rls_ext.products import product


@dataclass(frozen=True, slots=True)
class LayerGradient:
    """One layer's gradient in factors.

    Attributes:
        inputs: the layer's inputs, after dropout, (b, d).
        raw_inputs: the same before dropout.
        outputs: derivative of the loss with respect to the outputs, (b, o); the weight's gradient is outputsᵀ inputs.
    """

    inputs: Tensor
    raw_inputs: Tensor
    outputs: Tensor


class ClassifierHead:
    """The network's last three layers: linear with ReLU between them, and dropout before the second and third.

    Args:
        layers: the linear layers, which are trained in place.
        dropout: probability of dropping an input of the second or third layer during training.
    """

    def __init__(self, layers: list[nn.Linear], dropout: float, generator: torch.Generator | None = None) -> None:
        self.layers = layers
        self.dropout = dropout
        self.generator = generator

    def scores(self, features: Tensor) -> Tensor:
        """Target logits (n,), without dropout."""
        return self.scores_of(self.first_outputs(features))

    @torch.no_grad()
    def first_outputs(self, features: Tensor) -> Tensor:
        """Rectified outputs of the first layer, (n, o)."""
        return torch.relu_(outputs_of(self.layers[0], features))

    @torch.no_grad()
    def scores_of(self, hidden: Tensor) -> Tensor:
        """Target logits (n,) from the first layer's rectified outputs (n, o)."""
        for layer in self.layers[1:-1]:
            hidden = torch.relu_(outputs_of(layer, hidden))
        return torch.addmv(self.layers[-1].bias[1], hidden, self.layers[-1].weight[1])

    @torch.no_grad()
    def gradients(
        self, features: Tensor, labels: Tensor, known: Tensor | None = None
    ) -> tuple[list[LayerGradient], Tensor]:
        """Runs one forward and one backward pass.

        Args:
            features: (b, d).
            labels: 1 for the target, 0 for the background, int64 (b,).
            known: the first layer's rectified outputs, if already computed.

        Returns:
            The layers' gradients in the order of the layers, and the mean cross entropy.
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
