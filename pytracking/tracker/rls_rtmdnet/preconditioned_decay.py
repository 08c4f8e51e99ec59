"""The product of a layer's weights with its P_n, which is what the weights decay by (after Eq. RLS_update_RTMDNet)."""
from __future__ import annotations

import torch
from torch import Tensor, nn

from pytracking.tracker.rls_rtmdnet.layer_memory import LayerMemory
from pytracking.tracker.rtmdnet.descent import LayerStep

EXACT_INPUTS = 1024  # layers with up to so many inputs are multiplied afresh for every mini-batch
FRESH_AFTER = 60  # mini-batches after which the resting part of a larger layer is computed afresh


def is_large(layer: nn.Linear) -> bool:
    """Whether W P_n is too much work for every mini-batch."""
    return layer.in_features > EXACT_INPUTS


class PreconditionedWeights:
    """W P_n of a large layer, where P_n = P_0 - Σ u_j u_jᵀ with a resting P_0 (see ``LayerMemory``).

    W P_0 costs more than all the rest of a mini-batch. It is alpha W + W (P_0 - alpha I), where
    alpha I is P_0 on what no input has touched. The second term is kept from one mini-batch to the next, the few u_j
    are applied to the weights of the moment. What is missed are W's later changes on what P_0 had been taught: small,
    because they were multiplied by such a P when they were made, but for momentum. The kept term is computed afresh
    every 60 mini-batches; in between the product is right to 0.2 % where the clipping limits the preconditioned step,
    to 2 % at delta = 1, and to about 10 % with the much longer steps of delta = 5e-4 clipped before.
    """

    def __init__(self, layer: nn.Linear, memory: LayerMemory) -> None:
        self.layer = layer
        self.memory = memory
        self.kept: Tensor | None = None  # W (P_0 - alpha I), (o, d + 1)
        self._alpha = 0.0
        self._age = 0
        self._truncations = 0  # of P_0 when W was last multiplied by it
        memory.before_settling.append(self._fold_changes)

    @property
    def nbytes(self) -> int:
        """Bytes of what is kept."""
        return 0 if self.kept is None else self.kept.nbytes

    def step(self, outputs: Tensor, products: Tensor, factor: float, out: Tensor) -> LayerStep:
        """outputsᵀ products + ``factor`` W P_n, for a large layer.

        Args:
            outputs: derivatives of the loss by the layer's outputs, (b, o).
            products: the layer's inputs multiplied by P_n, (b, d + 1).
            factor: coefficient of the decay.
            out: memory for the result, (o, d + 1).
        """
        weight, bias = self.layer.weight.data, self.layer.bias.data
        self._refresh()
        self._age += 1
        if self.memory.changes is not None:  # W P_0 - (W u_j) u_jᵀ: some more rows of the same product
            outputs = torch.cat([outputs, self._response().T.mul_(-factor)])
            products = torch.cat([products, self.memory.changes])
        torch.addmm(self.kept, outputs.T, products, beta=factor, out=out)
        step = LayerStep.of(out)
        step.add(weight, bias, factor * self._alpha)
        return step

    def abandon_stage(self) -> None:
        """The weights are others than those that were multiplied: compute afresh."""
        self.kept = None

    def _refresh(self) -> None:
        resting = self.memory.inverse
        truncated = resting.truncations != self._truncations  # then P_0 is not the sum of its changes
        if self.kept is None and not resting.steps:
            self.kept = self.layer.weight.new_zeros((self.layer.out_features, resting.dim))
        elif self.kept is None or self._age >= FRESH_AFTER or resting.beta != 1 or truncated:
            joined = joined_parameters(self.layer)
            self.kept = resting.precondition(joined).sub_(joined, alpha=self.memory.alpha)
        else:
            return
        self._alpha, self._age, self._truncations = self.memory.alpha, 0, resting.truncations

    def _fold_changes(self) -> None:
        """P_0 is about to take the changes in: so does what is kept."""
        if self.kept is not None:
            self.kept.addmm_(self._response(), self.memory.changes, alpha=-1)

    def _response(self) -> Tensor:  # W u_j, (o, n)
        changes = self.memory.changes
        return torch.addmm(torch.outer(self.layer.bias.data, changes[:, -1]), self.layer.weight.data, changes[:, :-1].T)


def joined_parameters(layer: nn.Linear) -> Tensor:
    """[W | b], (o, d + 1)."""
    return torch.cat([layer.weight.data, layer.bias.data[:, None]], dim=1)
