"""The product of a layer's weights with its P_n, which is what the weights decay by (after Eq. RLS_update_RTMDNet)."""
from __future__ import annotations

import torch
from torch import Tensor, nn

from pytracking.tracker.rls_rtmdnet.layer_memory import LayerMemory
from pytracking.tracker.rtmdnet.descent import LayerStep

EXACT_INPUTS = 1024  # layers with up to so many inputs are multiplied afresh for every mini-batch
FRESH_AFTER = 60  # mini-batches after which the product of a larger layer is computed afresh


class PreconditionedWeights:
    """W P_n as alpha W + L, where alpha I is P_n on what no input has touched.

    For a large layer the product costs more than all the rest of a mini-batch. There L follows P_n by Eq. inverse_Phi2,
    L_n = L_(n-1) - (W P_(n-1) x_n) k_nᵀ with k_n = P_n x_n, and W's own changes enter through alpha W only: they were
    multiplied by P when they were made, so next to nothing of them lies where P_n differs from alpha I. Every 60
    mini-batches L is computed afresh; in between the product is right to about 1 %.
    """

    def __init__(self, layer: nn.Linear, memory: LayerMemory) -> None:
        self.layer = layer
        self.memory = memory
        self.touched: Tensor | None = None  # L, (o, d + 1)
        self._age = 0

    @property
    def nbytes(self) -> int:
        """Bytes of L."""
        return 0 if self.touched is None else self.touched.nbytes

    def add_to(self, step: LayerStep, factor: float, virtual_input: Tensor) -> None:
        """Adds ``factor`` W P_n, after the memory has taken ``virtual_input`` x_n (d + 1,) in."""
        weight, bias = self.layer.weight.data, self.layer.bias.data
        if self.layer.in_features <= EXACT_INPUTS:
            product = self.memory.precondition(torch.cat([weight, bias[:, None]], dim=1))
            step.add(product[:, :-1], product[:, -1], factor)
            return
        alpha = self.memory.alpha
        if self.touched is None or self._age >= FRESH_AFTER or self.memory.inverse.beta != 1:
            joined = torch.cat([weight, bias[:, None]], dim=1)
            self.touched = self.memory.precondition(joined).sub_(joined, alpha=alpha)
            self._age = 0
        else:
            response = alpha * torch.addmv(bias, weight, virtual_input[:-1]) + self.touched @ virtual_input
            self.touched.addr_(response, self.memory.precondition(virtual_input[None])[0], alpha=-1)
        self._age += 1
        step.add(weight, bias, factor * alpha)
        step.add(self.touched[:, :-1], self.touched[:, -1], factor)
