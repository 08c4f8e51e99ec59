"""Conjugate gradients for a symmetric positive definite matrix given only by its products."""
from collections.abc import Callable

import torch
from torch import Tensor


def conjugate_gradients(product: Callable[[Tensor], Tensor], target: Tensor, start: Tensor, iterations: int) -> Tensor:
    """Solve W A = Z approximately, each row independently; returns W after ``iterations`` steps.

    Each step minimises ``w A w^T / 2 - z w^T`` over all directions searched so far. A few steps from a good start
    settle the strong directions of A and leave the weak ones as they are.

    Args:
        product: Maps rows (q, p) to rows times A (q, p).
        target: Z (q, p).
        start: Initial W (q, p); not changed.
        iterations: Number of steps; p would be exact without rounding. Rows that have converged stay as they are.
    """
    solution, residual = start.clone(), target - product(start)
    direction, energy = residual, _dot(residual, residual)  # (q, p), (q, 1)
    for _ in range(iterations):
        direction_a = product(direction)
        step = _ratio(energy, _dot(direction, direction_a))
        solution = solution + step * direction
        residual = residual - step * direction_a
        new_energy = _dot(residual, residual)
        direction = residual + _ratio(new_energy, energy) * direction
        energy = new_energy
    return solution


def _dot(a: Tensor, b: Tensor) -> Tensor:
    return (a * b).sum(dim=1, keepdim=True)


def _ratio(above: Tensor, below: Tensor) -> Tensor:
    """above / below, or 0 where ``below`` is 0, without a check that would wait for the device."""
    return torch.where(below > 0, above / torch.where(below > 0, below, 1), 0)
