"""Conjugate gradients for a symmetric positive definite matrix that is known by its products alone."""
from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor


def conjugate_gradients(product: Callable[[Tensor], Tensor], target: Tensor, start: Tensor, iterations: int) -> Tensor:
    """W after this many steps towards W A = Z, one independent descent for every row.

    Each step minimises ``w A w^T / 2 - z w^T`` over everything reached so far. A few steps from a good start
    settle the strong directions of A and leave the weak ones as they are.

    Args:
        product: rows (q, p) -> rows times A (q, p).
        target: Z (q, p).
        start: W (q, p) to begin with; not changed.
        iterations: steps; p of them are exact without rounding. Rows that have converged stay as they are.
    """
    solution, residual = start.clone(), target - product(start)
    direction, energy = residual, _dot(residual, residual)  # (q, p), (q, 1)
    for _ in range(iterations):
        moved = product(direction)
        step = _ratio(energy, _dot(direction, moved))
        solution = solution + step * direction
        residual = residual - step * moved
        left = _dot(residual, residual)
        direction = residual + _ratio(left, energy) * direction
        energy = left
    return solution


def _dot(a: Tensor, b: Tensor) -> Tensor:
    return (a * b).sum(dim=1, keepdim=True)


def _ratio(above: Tensor, below: Tensor) -> Tensor:
    """above / below, and 0 where ``below`` is 0; without waiting for a device."""
    return torch.where(below > 0, above / torch.where(below > 0, below, 1), 0)
