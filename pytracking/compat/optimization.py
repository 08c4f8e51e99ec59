"""Nonlinear least squares on tensor lists, solved by this project's conjugate gradients."""
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from pytracking.compat.tensorlist import TensorList
from pytracking.tracker.atom.conjugate_gradient import ConjugateGradient as Solver


class L2Problem:
    """Base class of least-squares problems."""

    def __call__(self, x: TensorList) -> TensorList:
        """Returns the residuals."""
        raise NotImplementedError

    def ip_input(self, a: TensorList, b: TensorList) -> Tensor:
        """Inner product of two variables; the solvers here ignore overrides and use the plain one."""
        return sum((first * second).sum() for first, second in zip(a, b, strict=True))

    ip_output = ip_input  # of two residuals

    def M1(self, x: TensorList) -> TensorList:  # noqa: N802  (pytracking's name)
        """Preconditioner: approximate inverse of the curvature times ``x``."""
        return x


class GaussNewtonCG:
    """Gauss-Newton steps solved by conjugate gradients; changes the variable in place.

    Args:
        cg_eps: ignored; the number of iterations is fixed.
        standard_alpha: ignored; the standard step length is used.
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
        """Forgets the last search direction."""
        self._solver.reset()

    def run(self, num_cg_iter: int | Sequence[int], num_gn_iter: int | None = None) -> tuple[Tensor, Tensor]:
        """Runs Gauss-Newton steps; a list gives the iterations of each step."""
        steps = [num_cg_iter] * (num_gn_iter or 1) if isinstance(num_cg_iter, int) else num_cg_iter
        for iterations in steps:
            if iterations > 0:
                self._step(iterations)
        return self.losses, self.residuals

    def _step(self, iterations: int) -> None:
        with torch.enable_grad():
            point = TensorList([part.detach().requires_grad_(True) for part in self.x])
            residuals = self.problem(point)
            dummy = TensorList([torch.zeros_like(residual).requires_grad_(True) for residual in residuals])
            transposed_product = torch.autograd.grad(residuals, point, dummy, create_graph=True)  # J^T dummy
        # it is linear in `dummy`, so differentiating it again gives products with the Jacobian J

        def product(vector: Tensor) -> Tensor:
            jacobian_product = torch.autograd.grad(transposed_product, dummy, self._split(vector), retain_graph=True)
            return _flat(torch.autograd.grad(residuals, point, jacobian_product, retain_graph=True))

        detached = [residual.detach() for residual in residuals]
        gradient = _flat(torch.autograd.grad(residuals, point, detached, retain_graph=True))

        def precondition(vector: Tensor) -> Tensor:
            return _flat(self.problem.M1(self._split(vector)))

        step = self._solver.solve(product, -gradient, iterations, precondition)
        with torch.no_grad():
            for part, change in zip(self.x, self._split(step), strict=True):
                part.add_(change)
        if self.debug:
            loss = sum(residual.square().sum() for residual in detached).reshape(1)
            self.losses = torch.cat([self.losses.to(loss), loss])

    def _split(self, vector: Tensor) -> TensorList:
        pieces = vector.split([part.numel() for part in self.x])
        return TensorList([piece.view_as(part) for piece, part in zip(pieces, self.x, strict=True)])


class ConjugateGradient(GaussNewtonCG):
    """Runs conjugate gradients on the problem linearised at the start of each run.

    With ``direction_forget_factor`` the last direction is carried over to the next run.
    """

    def run(self, num_cg_iter: int, num_gn_iter: None = None) -> tuple[Tensor, Tensor]:
        """Runs this many iterations."""
        return super().run(num_cg_iter)


class GradientDescentL2:
    """Gradient descent with momentum on the squared length of the residuals; changes the variable in place."""

    def __init__(
        self, problem: L2Problem, variable: TensorList, step_length: float, momentum: float = 0.0, **unused: Any
    ) -> None:
        self.problem, self.x = problem, variable
        self.step_length, self.momentum = step_length, momentum
        self.residuals, self.losses = torch.zeros(0), torch.zeros(0)
        self._velocity = [torch.zeros_like(part) for part in variable]

    def run(self, num_iter: int, dummy: Any = None) -> None:
        """Runs this many steps."""
        for _ in range(num_iter):
            with torch.enable_grad():
                point = TensorList([part.detach().requires_grad_(True) for part in self.x])
                loss = sum(residual.square().sum() for residual in self.problem(point)) / 2
                gradients = torch.autograd.grad(loss, point)
            with torch.no_grad():
                for part, velocity, gradient in zip(self.x, self._velocity, gradients, strict=True):
                    velocity.mul_(self.momentum).add_(gradient)
                    part.sub_(self.step_length * velocity)


def _flat(tensors: Sequence[Tensor]) -> Tensor:
    return torch.cat([tensor.reshape(-1) for tensor in tensors])
