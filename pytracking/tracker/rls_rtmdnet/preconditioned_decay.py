"""The product of a layer's weights with its P_n, which is what the weights decay by (after Eq. RLS_update_RTMDNet)."""
from __future__ import annotations

import torch
from torch import Tensor, nn

from pytracking.tracker.rls_rtmdnet.layer_memory import LayerMemory
from pytracking.tracker.rtmdnet.descent import LayerStep

FRESH_AFTER = 80  # mini-batches after which the resting part of the product is computed afresh
FRESH_AFTER_SHORT = 8  # the same where rows are short, and multiplying them is cheap
SHORT_ROWS = 1024  # inputs of a layer: fc5 and fc6 have fewer, fc4 more


class PreconditionedWeights:
    """W P_n of a layer with many weights, where P_n = P_0 - Σ u_j u_jᵀ with a resting P_0 (see ``LayerMemory``).

    W P_0 costs more than all the rest of a mini-batch. It is a W + W (P_0 - a I), for any a. The second term is kept
    from one mini-batch to the next, and so are the products W u_j. What is missed is the product of W's later changes
    with P_n - a I: nothing, if a is P_n on these changes. They are made where P is large, that is (nearly) the same
    wherever no input has been; a is measured on the mini-batch at hand. The kept term is computed afresh every 80
    mini-batches; in between the product is right to 0.35 % where the clipping limits the preconditioned step, to 2 % at
    delta = 1, and to 15 % with the much longer steps of delta = 5e-4 clipped before. Short rows are cheap: there
    the u_j are applied to the weights of the moment, and every 8 mini-batches are enough that the product is right to
    0.5 % even after P has seen every direction; only while P sees the last few it was 11 % wrong, in a layer of 130
    inputs.

    Args:
        layer: whose weights decay.
        memory: of its P.
        buffer: memory for its steps, (o, width); also used on the way.
    """

    def __init__(self, layer: nn.Linear, memory: LayerMemory, buffer: Tensor) -> None:
        self.layer = layer
        self.memory = memory
        self.a = 0.0
        self._buffer = buffer
        self._kept: Tensor | None = None  # W (P_0 - a I), (o, width)
        self._short = has_short_rows(layer)
        self._fresh_after = FRESH_AFTER_SHORT if self._short else FRESH_AFTER
        self._responses = layer.weight.new_empty(0, layer.out_features)  # W u_j, newest first, of when u_j came
        self._is_fresh = False
        self._age = 0
        self._truncations = 0  # of P_0 when W was last multiplied by it
        memory.before_settling.append(self._fold_changes)

    @property
    def nbytes(self) -> int:
        """Bytes of what is kept."""
        return 0 if self._kept is None else self._kept.nbytes

    def step(self, coefficients: Tensor, factors: Tensor, decay: float) -> LayerStep:
        """coefficientsᵀ factors + ``decay`` W P_n, in the buffer.

        Args:
            coefficients: (n + b, o), and
            factors: (n + b, width), from ``LayerMemory.factored_step``; the first are overwritten.
            decay: coefficient of the weights.
        """
        if not self._is_usable():
            self._refresh(coefficients.sum(dim=1) @ factors)
        self._age += 1
        changes = self.memory.changes
        known = self._responses[:0] if self._short else self._responses
        self._responses = torch.cat([self._response(changes[: len(changes) - len(known)]), known])
        coefficients[: len(changes)].sub_(self._responses, alpha=decay)
        torch.mm(coefficients.T, factors, out=self._buffer).add_(self._kept, alpha=decay)
        step = LayerStep.of(self._buffer, self.layer.in_features)
        step.add(self.layer.weight.data, self.layer.bias.data, decay * self.a)
        return step

    def abandon_stage(self) -> None:
        """The weights are others than those that were multiplied: compute afresh."""
        self._responses, self._is_fresh = self._responses[:0], False

    def _is_usable(self) -> bool:
        """Whether the kept term is recent enough, and P_0 that of then but for changes that were folded in."""
        resting = self.memory.inverse
        truncated = resting.truncations != self._truncations  # then P_0 is not the sum of its changes
        return self._is_fresh and self._age < self._fresh_after and resting.beta == 1 and not truncated

    def _refresh(self, direction: Tensor) -> None:
        """Computes the kept term afresh; ``direction`` (width,) is one in which the weights will move."""
        resting = self.memory.inverse
        if self._kept is None:
            self._kept = torch.zeros_like(self._buffer)
        joined = join_parameters(self.layer, self._buffer[:, : resting.dim])
        kept = resting.precondition(joined, out=self._kept[:, : resting.dim])
        self.a = self._typical_eigenvalue(direction[: resting.dim])
        kept.sub_(joined, alpha=self.a)
        self._is_fresh, self._age, self._truncations = True, 0, resting.truncations

    def _typical_eigenvalue(self, direction: Tensor) -> float:
        size = float(torch.dot(direction, direction))
        if size == 0 or not self.memory.inverse.steps:
            return self.memory.alpha
        return float(torch.dot(self.memory.inverse.precondition(direction), direction)) / size

    def _fold_changes(self) -> None:
        """P_0 is about to take the changes in: so does what is kept."""
        if self._is_fresh:
            changes = self.memory.changes
            self._kept.addmm_(self._response(changes).T, changes, alpha=-1)
        self._responses = self._responses[:0]

    def _response(self, changes: Tensor) -> Tensor:  # W u_j, (n, o)
        inputs = self.layer.in_features
        return torch.outer(changes[:, inputs], self.layer.bias.data).addmm_(
            changes[:, :inputs], self.layer.weight.data.T
        )


def has_short_rows(layer: nn.Linear) -> bool:
    """Whether a layer has so few inputs that products with its P cost little, and P little memory."""
    return layer.in_features <= SHORT_ROWS


def join_parameters(layer: nn.Linear, out: Tensor) -> Tensor:
    """[W | b] into ``out`` (o, d + 1)."""
    out[:, :-1] = layer.weight.data
    out[:, -1] = layer.bias.data
    return out
