"""Conjugate gradients for ``A d = b`` with a positive definite A given by its products, some iterations at a time."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor


@dataclass(slots=True)
class CgTrace:
    """What happened, iteration by iteration: ``<r, z>``, ``<r_old, z>`` (None where not used), ``<p, A p>``, d, p."""

    rho: list[Tensor] = field(default_factory=list)
    overlap: list[Tensor | None] = field(default_factory=list)
    bend: list[Tensor] = field(default_factory=list)
    solutions: list[Tensor] = field(default_factory=list)
    directions: list[Tensor] = field(default_factory=list)


class ConjugateGradient:
    """Solves one system after another, each from d = 0.

    Args:
        fletcher_reeves: how a new direction is made conjugate; else Polak and Ribiere's way.
        forget_factor: 0: every system starts with its gradient. Above 0: the last direction is continued in the next
            system, with less weight the smaller the factor.
    """

    def __init__(self, *, fletcher_reeves: bool, forget_factor: float = 0.0) -> None:
        self.fletcher_reeves = fletcher_reeves
        self.forget_factor = forget_factor
        self.reset()

    def reset(self) -> None:
        """Forgets the last direction."""
        self._direction: Tensor | None = None
        self._rho: Tensor | None = None
        self._residual: Tensor | None = None

    def solve(
        self,
        product: Callable[[Tensor], Tensor],
        b: Tensor,
        iterations: int,
        precondition: Callable[[Tensor], Tensor] | None = None,
        trace: CgTrace | None = None,
    ) -> Tensor:
        """d (n,) for b (n,); ``precondition`` is an approximate inverse of A times a vector."""
        if self.forget_factor == 0:
            self.reset()
        elif self._rho is not None:
            self._rho = self._rho / self.forget_factor
        residual, solution = b, torch.zeros_like(b)
        for _ in range(iterations):
            steered = residual if precondition is None else precondition(residual)
            rho = residual @ steered
            if rho == 0:
                break
            direction, overlap = self._conjugate(steered, rho)
            moved = product(direction)
            bend = direction @ moved
            length = rho / bend
            solution = solution + length * direction
            self._direction, self._rho, self._residual = direction, rho, residual
            residual = residual - length * moved
            if trace is not None:
                trace.rho.append(rho)
                trace.overlap.append(overlap)
                trace.bend.append(bend)
                trace.solutions.append(solution)
                trace.directions.append(direction)
        return solution

    def _conjugate(self, steered: Tensor, rho: Tensor) -> tuple[Tensor, Tensor | None]:
        if self._direction is None:
            return steered, None
        overlap = None if self.fletcher_reeves else self._residual @ steered
        share = (rho if overlap is None else rho - overlap) / self._rho
        return steered + share.clamp(min=0) * self._direction, overlap
