"""Recursive least squares in information form: keeps Phi_n instead of its inverse P_n."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from . import devices
from .conjugate_gradients import conjugate_gradients
from .errors import (
    HyperparameterError,
    NonFiniteInputError,
    PositiveDefinitenessError,
    ShapeError,
    StateMismatchError,
)
from .gram import DenseGram
from .sketched_gram import SketchedGram

DTYPES = (torch.float32, torch.float64)


class NormalEquations:
    """Phi_n and Z_n, whose solution W_n = Z_n Phi_n^-1 minimises Eq. costfunctionLS over everything seen.

        Phi_0 = delta I,    Phi_n = beta Phi_(n-1) + X_n^T X_n,    Z_0 = 0,    Z_n = beta Z_(n-1) + Y_n^T X_n.

    Phi_n is the inverse of ``InverseCorrelation``'s P_n, and W_n is ``RLSRegressor``'s. Updating with a block of b rows
    costs b p^2 whatever their rank and never loses positive definiteness; forgetting makes no direction overflow. The
    estimate costs a solve: a few steps of conjugate gradients from the last one, or a Cholesky decomposition.

    The blocks' weights sum to ``weight`` = 1 + beta + ... + beta^(n-1), so (Phi_n - delta beta^n I) / weight is the
    mean of X^T X: over all n blocks for beta = 1, over a window of about 1 / (1 - beta) of them otherwise.

    Args:
        dim: p, the length of an input.
        outputs: q, the length of a target.
        delta: Weight of |W|^2 in the cost, forgotten with time when beta < 1. May be 0: then ``ridge`` has to make the
            solution unique until the inputs span all directions.
        beta: Forgetting factor in (0, 1]; 1 forgets nothing.
        form: "dense" keeps Phi exactly, in p^2 / 2 numbers; "sketched" approximates it to within :attr:`error_bound`
            in ``memory_budget`` bytes. Z is exact in both.
        memory_budget: Bytes that a sketched Phi may take.
        dtype: float32 or float64, of Phi, Z and W.
        device: Device of Phi, Z and W.

    On the CPU bad inputs raise at once. On other devices a check would wait for the device at every update, so there a
    block with a non-finite number counts as zero.
    """

    def __init__(
        self,
        dim: int,
        outputs: int = 1,
        *,
        delta: float,
        beta: float = 1.0,
        form: str = "dense",
        memory_budget: int | None = None,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str | None = None,
    ) -> None:
        for name, value in (("dim", dim), ("outputs", outputs)):
            if int(value) != value or value < 1:
                raise HyperparameterError(f"{name} must be a positive integer, got {value}")
        if not (delta >= 0 and math.isfinite(delta)):
            raise HyperparameterError(f"delta must be finite and not negative (Phi_0 = delta I), got {delta}")
        if not 0 < beta <= 1:
            raise HyperparameterError(f"beta must lie in (0, 1], got {beta}")
        self.dim, self.outputs, self.delta, self.beta = int(dim), int(outputs), float(delta), float(beta)
        resolved = torch.empty(0, device=device).device  # "cuda" becomes the current device
        self._targets = torch.zeros(self.outputs, self.dim, dtype=_checked(dtype), device=resolved)
        self._gram = _make_gram(form, self.dim, dtype, resolved, memory_budget)  # Phi - delta beta^n I
        self.steps, self.weight = 0, 0.0

    @property
    def dtype(self) -> torch.dtype:
        """Type of Phi, Z and W."""
        return self._targets.dtype

    @property
    def device(self) -> torch.device:
        """Device of Phi, Z and W."""
        return self._targets.device

    @property
    def nbytes(self) -> int:
        """Bytes of Phi and Z."""
        return self._gram.nbytes + self._targets.nbytes

    @property
    def form(self) -> str:
        """Representation of Phi: "dense" or "sketched"."""
        return self._gram.form

    @property
    def error_bound(self) -> float:
        """Largest possible error of an eigenvalue of Phi, rounding aside; 0 for the dense form."""
        return self._gram.error_bound

    @property
    def targets(self) -> Tensor:
        """Z_n (q, p)."""
        return self._targets.clone()

    def dense(self) -> Tensor:
        """Phi_n as a new (p, p) tensor."""
        matrix = self._gram.dense(self.dtype)
        matrix.diagonal().add_(self._sigma)
        return matrix

    @property
    def _sigma(self) -> float:
        return self.delta * self.beta**self.steps

    def reset(self) -> None:
        """Forget everything: Phi = delta I, Z = 0, steps = 0."""
        self._gram.reset()
        self._targets.zero_()
        self.steps, self.weight = 0, 0.0

    def update(self, x: Tensor, y: Tensor) -> None:
        """Learn from one pair, x (p,) and y (q,), or from a block, X (b, p) and Y (b, q), as one forgetting step.

        To weight a row, multiply both x and y by the square root of its weight.

        Raises:
            ShapeError: x and y do not have these shapes.
            NonFiniteInputError: NaN, infinity, or numbers whose squares do not fit the dtype (on the CPU; elsewhere
                such a block counts as zero). Phi and Z are left as they were.
        """
        p, q = self.dim, self.outputs
        if x.dim() not in (1, 2) or x.shape[-1] != p or y.shape != (*x.shape[:-1], q):
            got = f"got {tuple(x.shape)}, {tuple(y.shape)}"
            raise ShapeError(f"x, y must be ({p},), ({q},) or (b, {p}), (b, {q}); {got}")
        inputs, answers = x.reshape(-1, p), y.reshape(-1, q)
        self._add(*self._checked_pair(inputs, answers), moment=False)

    def update_with_moment(self, x: Tensor, moment: Tensor) -> None:
        """Like :meth:`update` for inputs X (b, p) whose targets Y are known only through Y^T X (q, p).

        A quadratic model of a loss gives just that: with gradient g and curvature X^T X at W, Y^T X = W X^T X - g.
        """
        p, q = self.dim, self.outputs
        if x.dim() != 2 or x.shape[1] != p or moment.shape != (q, p):
            got = f"got {tuple(x.shape)}, {tuple(moment.shape)}"
            raise ShapeError(f"x, moment must be (b, {p}), ({q}, {p}); {got}")
        self._add(*self._checked_pair(x, moment), moment=True)

    def _add(self, inputs: Tensor, answers: Tensor, *, moment: bool) -> None:
        if self.beta != 1.0:
            self._gram.forget(self.beta)
            self._targets.mul_(self.beta)
        self._gram.add(inputs)
        self._targets.add_(answers) if moment else self._targets.addmm_(answers.T, inputs)
        self.steps, self.weight = self.steps + 1, self.beta * self.weight + 1.0

    def _checked_pair(self, inputs: Tensor, answers: Tensor) -> tuple[Tensor, Tensor]:
        inputs, answers = (each.detach().to(self._targets) for each in (inputs, answers))
        sizes = torch.stack([torch.linalg.vector_norm(each) for each in (inputs, answers)])
        fits = torch.isfinite(sizes.square().sum())  # bounds all products of their entries
        if not devices.may_look(self.device):
            return torch.where(fits, inputs, 0), torch.where(fits, answers, 0)
        if not bool(fits):
            raise NonFiniteInputError(
                f"x or y holds NaN, infinity or numbers too large for {self.dtype}; "
                f"Phi is unchanged after {self.steps} steps"
            )
        return inputs, answers

    def product(self, rows: Tensor) -> Tensor:
        """rows Phi_n for rows (..., p) in the dtype of Phi."""
        if rows.dim() == 0 or rows.shape[-1] != self.dim:
            raise ShapeError(f"rows must be (..., {self.dim}), got {tuple(rows.shape)}")
        return self._gram.product(rows.reshape(-1, self.dim)).view_as(rows) + self._sigma * rows

    def solve(self, start: Tensor | None = None, iterations: int | None = None, *, ridge: float = 0.0) -> Tensor:
        """Solve W (Phi_n + ridge I) = Z_n for W (q, p) by conjugate gradients.

        Args:
            start: Initial W (q, p), e.g. the last one; zeros by default.
            iterations: Number of steps; p by default, which is exact up to rounding.
            ridge: Additional weight of |W|^2, for this solution only.
        """
        start = torch.zeros_like(self._targets) if start is None else start.detach().to(self._targets)
        if start.shape != self._targets.shape:
            raise ShapeError(f"start must be {tuple(self._targets.shape)}, got {tuple(start.shape)}")
        steps = self.dim if iterations is None else iterations
        if steps < 0:
            raise HyperparameterError(f"iterations must not be negative, got {iterations}")
        return conjugate_gradients(self._ridged_product(_checked_ridge(ridge)), self._targets, start, steps)

    def _ridged_product(self, ridge: float) -> Callable[[Tensor], Tensor]:
        return lambda rows: self.product(rows) + ridge * rows

    def solve_exactly(self, *, ridge: float = 0.0) -> Tensor:
        """Solve W (Phi_n + ridge I) = Z_n for W (q, p) by a Cholesky decomposition in float64 (float32 on MPS).

        Raises:
            PositiveDefinitenessError: the equations have no unique solution (on the CPU).
        """
        wide = torch.float32 if self.device.type == "mps" else torch.float64
        found, failed = self._gram.solve(self._targets.to(wide), self._sigma + _checked_ridge(ridge))
        if devices.may_look(self.device) and bool(failed):
            raise PositiveDefinitenessError(
                "the inputs seen so far do not determine the solution: set delta or ridge above zero"
            )
        return found.to(self.dtype)

    def to(self, device: torch.device | str | None = None, dtype: torch.dtype | None = None) -> NormalEquations:
        """Move to a device and/or a dtype, in place; returns itself."""
        new_device = self.device if device is None else torch.empty(0, device=device).device
        new_dtype = self.dtype if dtype is None else _checked(dtype)
        self._targets = self._targets.to(new_device, new_dtype)
        self._gram.to(new_device, new_dtype)
        return self

    def state_dict(self) -> dict[str, Any]:
        """Everything needed to continue later: plain numbers and tensors."""
        numbers = {name: getattr(self, name) for name in (*_FIXED, "steps", "weight")}
        return numbers | {"gram": self._gram.state(), "targets": self._targets.clone()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore a ``state_dict()`` of equations with the same dim, outputs, delta, beta and form."""
        missing = {*_FIXED, "steps", "weight", "gram", "targets"} - set(state)
        if missing:
            raise StateMismatchError(f"state has no {min(missing)!r}: not a state dict of NormalEquations")
        for name in _FIXED:
            if state[name] != getattr(self, name):
                raise StateMismatchError(f"state was saved with {name}={state[name]}, here it is {getattr(self, name)}")
        self._gram.load(state["gram"])
        self._targets.copy_(state["targets"])
        self.steps, self.weight = int(state["steps"]), float(state["weight"])

    def __repr__(self) -> str:
        return (
            f"NormalEquations({self.dim}, {self.outputs}, delta={self.delta}, beta={self.beta}, "
            f"form={self.form!r}, dtype={self.dtype}, device={str(self.device)!r}): after {self.steps} steps"
        )


_FIXED = ("dim", "outputs", "delta", "beta", "form")


def _make_gram(
    form: str, dim: int, dtype: torch.dtype, device: torch.device, memory_budget: int | None
) -> DenseGram | SketchedGram:
    if form not in ("dense", "sketched"):
        raise HyperparameterError(f"form must be 'dense' or 'sketched', got {form!r}")
    if form == "dense" and memory_budget is None:
        return DenseGram(dim, dtype, device)
    if form == "dense" or memory_budget is None:
        raise HyperparameterError("memory_budget must be given for form='sketched', and only for it")
    return SketchedGram(dim, dtype, device, memory_budget)


def _checked(dtype: torch.dtype) -> torch.dtype:
    if dtype not in DTYPES:
        raise HyperparameterError(f"dtype must be float32 or float64: long sums in {dtype} would lose new terms")
    return dtype


def _checked_ridge(ridge: float) -> float:
    if not (ridge >= 0 and math.isfinite(ridge)):
        raise HyperparameterError(f"ridge must be finite and not negative, got {ridge}")
    return float(ridge)
