"""Nonlinear least squares on lists of tensors, with this project's conjugate gradients."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from pytracking.compat.tensorlist import TensorList
from pytracking.tracker.atom.conjugate_gradient import ConjugateGradient as Solver


class L2Problem:
    """Residuals whose squared length is to be small."""

    def __call__(self, x: TensorList) -> TensorList:
        """The residuals."""
        raise NotImplementedError

    def ip_input(self, a: TensorList, b: TensorList) -> Tensor:
        """Inner product of two variables; taken over all of their numbers here, whatever a problem says."""
        return sum((first * second).sum() for first, second in zip(a, b, strict=True))

    def ip_output(self, a: TensorList, b: TensorList) -> Tensor:
        """Inner product of two residuals."""
        return sum((first * second).sum() for first, second in zip(a, b, strict=True))

    def M1(self, x: TensorList) -> TensorList:  # noqa: N802  (pytracking's name)
        """An approximate inverse of the curvature, times ``x``."""
        return x


class GaussNewtonCG:
    """Gauss-Newton steps, each by some iterations of conjugate gradients; changes the variable in place.

    Args:
        cg_eps: ignored, as the number of iterations decides.
        standard_alpha: ignored, as the usual step length is taken.
        direction_forget_factor: the solver's ``forget_factor``.
    """

    def __init__(
        self,
        problem: L2Problem,
        variable: TensorList,
        cg_eps: float = 0.0,
        fletcher_reeves: bool = True,
        standard_alpha: bool = True,
        direction_forget_factor: float = 0,
        debug: bool = False,
        **unused: Any,
    ) -> None:
        self.problem, self.x, self.debug = problem, variable, debug
        self.residuals, self.losses = torch.zeros(0), torch.zeros(0)
        self._solver = Solver(fletcher_reeves=fletcher_reeves, forget_factor=direction_forget_factor)

    def reset_state(self) -> None:
        """Forgets the last direction."""
        self._solver.reset()

    def run(self, num_cg_iter: int | Sequence[int], num_gn_iter: int | None = None) -> tuple[Tensor, Tensor]:
        """Some steps; a list has the iterations of each."""
        steps = [num_cg_iter] * (num_gn_iter or 1) if isinstance(num_cg_iter, int) else num_cg_iter
        for iterations in steps:
            if iterations > 0:
                self._step(iterations)
        return self.losses, self.residuals

    def _step(self, iterations: int) -> None:
        with torch.enable_grad():
            point = TensorList([each.detach().requires_grad_(True) for each in self.x])
            residuals = self.problem(point)
            transposed = TensorList([torch.zeros_like(each).requires_grad_(True) for each in residuals])
            pulled = torch.autograd.grad(residuals, point, transposed, create_graph=True)
        # What is linear in `transposed` is differentiated once more, which gives products with the Jacobian.

        def product(vector: Tensor) -> Tensor:
            pushed = torch.autograd.grad(pulled, transposed, self._split(vector), retain_graph=True)
            return _flat(torch.autograd.grad(residuals, point, pushed, retain_graph=True))

        detached = [each.detach() for each in residuals]
        gradient = _flat(torch.autograd.grad(residuals, point, detached, retain_graph=True))

        def precondition(vector: Tensor) -> Tensor:
            return _flat(self.problem.M1(self._split(vector)))

        move = self._solver.solve(product, -gradient, iterations, precondition)
        with torch.no_grad():
            for each, change in zip(self.x, self._split(move), strict=True):
                each.add_(change)
        if self.debug:
            loss = sum(each.square().sum() for each in detached).reshape(1)
            self.losses = torch.cat([self.losses.to(loss), loss])

    def _split(self, vector: Tensor) -> TensorList:
        parts = vector.split([each.numel() for each in self.x])
        return TensorList([part.view_as(each) for part, each in zip(parts, self.x, strict=True)])


class ConjugateGradient(GaussNewtonCG):
    """The same on the problem as it is at the start of each run; the last direction goes on where asked for."""

    def run(self, num_cg_iter: int, num_gn_iter: None = None) -> tuple[Tensor, Tensor]:
        """Some iterations."""
        return super().run(num_cg_iter)


class GradientDescentL2:
    """Gradient descent with momentum on the squared length of the residuals; changes the variable in place."""

    def __init__(
        self, problem: L2Problem, variable: TensorList, step_length: float, momentum: float = 0.0, **unused: Any
    ) -> None:
        self.problem, self.x = problem, variable
        self.step_length, self.momentum = step_length, momentum
        self.residuals, self.losses = torch.zeros(0), torch.zeros(0)
        self._velocity = [torch.zeros_like(each) for each in variable]

    def run(self, num_iter: int, dummy: Any = None) -> None:
        """Some steps."""
        for _ in range(num_iter):
            with torch.enable_grad():
                point = TensorList([each.detach().requires_grad_(True) for each in self.x])
                loss = sum(each.square().sum() for each in self.problem(point)) / 2
                gradients = torch.autograd.grad(loss, point)
            with torch.no_grad():
                for each, velocity, gradient in zip(self.x, self._velocity, gradients, strict=True):
                    velocity.mul_(self.momentum).add_(gradient)
                    each.sub_(self.step_length * velocity)


def _flat(tensors: Sequence[Tensor]) -> Tensor:
    return torch.cat([each.reshape(-1) for each in tensors])


