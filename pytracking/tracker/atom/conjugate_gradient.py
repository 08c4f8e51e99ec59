"""Conjugate gradients for ``A d = b`` with a positive definite A given as a function, for few iterations."""
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor


@dataclass(slots=True)
class CgTrace:
    """Values per iteration: ``<r, z>``, ``<r_old, z>`` (None if not used), ``<p, A p>``, d and p."""

    rho: list[Tensor] = field(default_factory=list)
    overlap: list[Tensor | None] = field(default_factory=list)
    curvature: list[Tensor] = field(default_factory=list)
    solutions: list[Tensor] = field(default_factory=list)
    directions: list[Tensor] = field(default_factory=list)


class ConjugateGradient:
    """Solves a series of systems, each from d = 0.

    Args:
        fletcher_reeves: use Fletcher and Reeves's formula for conjugate directions; False: Polak and Ribiere's.
        forget_factor: 0: every system starts with its gradient. Above 0: the next system continues with the last
            direction; the smaller the factor, the lower its weight.
    """

    def __init__(self, *, fletcher_reeves: bool, forget_factor: float = 0.0) -> None:
        self.fletcher_reeves = fletcher_reeves
        self.forget_factor = forget_factor
        self.reset()

    def reset(self) -> None:
        """Discards the last direction."""
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
        """Returns d (n,) for b (n,); ``precondition`` multiplies a vector by an approximate inverse of A."""
        if self.forget_factor == 0:
            self.reset()
        elif self._rho is not None:
            self._rho = self._rho / self.forget_factor
        residual, solution = b, torch.zeros_like(b)
        for _ in range(iterations):
            preconditioned = residual if precondition is None else precondition(residual)
            rho = residual @ preconditioned
            if rho == 0:
                break
            direction, overlap = self._conjugate(preconditioned, rho)
            moved = product(direction)
            curvature = direction @ moved
            length = rho / curvature
            solution = solution + length * direction
            self._direction, self._rho, self._residual = direction, rho, residual
            residual = residual - length * moved
            if trace is not None:
                trace.rho.append(rho)
                trace.overlap.append(overlap)
                trace.curvature.append(curvature)
                trace.solutions.append(solution)
                trace.directions.append(direction)
        return solution

    def _conjugate(self, preconditioned: Tensor, rho: Tensor) -> tuple[Tensor, Tensor | None]:
        if self._direction is None:
            return preconditioned, None
        overlap = None if self.fletcher_reeves else self._residual @ preconditioned
        beta = (rho if overlap is None else rho - overlap) / self._rho
        return preconditioned + beta.clamp(min=0) * self._direction, overlap
