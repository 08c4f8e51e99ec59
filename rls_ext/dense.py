"""P as a full p x p matrix, updated by the paper's recursion."""
from __future__ import annotations

import copy
import warnings
from typing import Any

import torch
from torch import Tensor

from . import devices
from .errors import ForgettingOverflowError, PositiveDefinitenessError, PositiveDefinitenessWarning

_HALF = (torch.float16, torch.bfloat16)


class DenseInverse:
    """P_n of Eqs. kn and inverse_Phi2 as one matrix, in any float type.

    float16 and bfloat16 round after every operation, in the order of the released code, to reproduce its numbers.
    float32 and float64 update in place and keep P exactly symmetric.

    Rounding can make P indefinite. Every update checks x^T P x and the new diagonal; a negative value beyond rounding
    noise means that P lost positive definiteness. Then P restarts from I/delta with a ``PositiveDefinitenessWarning``
    (``on_loss="recover"``), or a ``PositiveDefinitenessError`` is raised and P stays as it was (``on_loss="raise"``).
    An input whose x^T P x is zero or negative within the noise is skipped. On an accelerator, where a check would wait
    for the device, an input that would make P indefinite is skipped too.
    """

    kind = "dense"
    works_in_place = False  # ``out`` of ``precondition`` must not be the gradient itself

    def __init__(
        self, dim: int, delta: float, beta: float, dtype: torch.dtype, device: torch.device, on_loss: str = "recover"
    ) -> None:
        self.dim, self.delta, self.beta, self.dtype, self.on_loss = dim, delta, beta, dtype, on_loss
        self.matrix = torch.zeros(0, 0, dtype=dtype, device=device)
        self.reset()

    @classmethod
    def from_matrix(cls, matrix: Tensor, delta: float, beta: float, rank: int, on_loss: str) -> DenseInverse:
        """Continue from a P_n computed by another form."""
        form = cls.__new__(cls)
        form.dim, form.delta, form.beta, form.dtype, form.on_loss = len(matrix), delta, beta, matrix.dtype, on_loss
        form.matrix, form.rank = matrix, rank
        return form

    def reset(self) -> None:
        """Start again from P_0 = I/delta."""
        self.matrix = torch.zeros(self.dim, self.dim, dtype=self.dtype, device=self.matrix.device)
        self.matrix.diagonal().fill_(1.0 / self.delta)
        self.rank = 0

    @property
    def product_dtype(self) -> torch.dtype:
        """Type in which gradients are multiplied."""
        return self.dtype

    @property
    def nbytes(self) -> int:
        """Bytes of the matrix."""
        return self.matrix.nbytes

    @property
    def row_cost(self) -> int:
        """Multiplications per row of a gradient."""
        return self.dim * self.dim

    def update(self, block: Tensor) -> None:
        """Phi <- beta Phi + X^T X for a block (b, p): one forgetting step, then one input after the other."""
        block = block.to(self.dtype)
        if self._subtract_block(block):
            self.rank = min(self.dim, self.rank + len(block))
            return
        self.reset()
        self._warn()
        if self._subtract_block(block):
            self.rank = min(self.dim, len(block))
        else:
            self.reset()  # the block alone overflows the dtype, so nothing can be learned from it

    def _subtract_block(self, block: Tensor) -> bool:
        saved = self.matrix.clone() if len(block) > 1 and self.on_loss == "raise" else None
        for index, x in enumerate(block):
            try:
                if not self._subtract(x, self.beta if index == 0 else 1.0):
                    return False
            except (PositiveDefinitenessError, ForgettingOverflowError):
                if saved is not None:
                    self.matrix = saved
                raise
        return True

    def _subtract(self, x: Tensor, beta: float) -> bool:
        """P <- (P - P x x^T P / (beta + x^T P x)) / beta; False if the result would not be positive definite."""
        px = self.matrix @ x  # (p,)
        quadratic = torch.dot(x, px)
        diagonal = self.matrix.diagonal()
        wide = x.float() if self.dtype in _HALF else x
        noise = 4 * torch.finfo(self.dtype).eps * diagonal.max() * torch.dot(wide, wide)
        new_diagonal = diagonal - px * px / (quadratic + beta)
        valid = (quadratic >= -noise) & (new_diagonal > 0).all() & torch.isfinite(new_diagonal / beta).all()
        if not self._accept(valid, new_diagonal, beta):
            return False
        px = torch.where(valid & (quadratic > 0), px, 0)
        if self.dtype in _HALF:
            self.matrix.sub_(torch.outer(px, px).div_(quadratic + beta))
        else:
            scaled = px / torch.sqrt(quadratic.clamp_min(0) + beta)  # the rounding of v v^T is symmetric
            self.matrix.addr_(scaled, scaled, alpha=-1)
        if beta != 1.0:
            self.matrix.div_(beta)
        return True

    def _accept(self, valid: Tensor, new_diagonal: Tensor, beta: float) -> bool:
        if not devices.may_look(self.matrix.device) or bool(valid):
            return True
        if bool(torch.isfinite(new_diagonal).all()) and not bool(torch.isfinite(new_diagonal / beta).all()):
            raise ForgettingOverflowError(self.dtype, beta)
        if self.on_loss == "raise":
            raise PositiveDefinitenessError(
                f"rounding in {self.dtype} would make the dense P indefinite. "
                'Use form="factored", a wider dtype, or on_loss="recover".'
            )
        return False

    def _warn(self) -> None:
        warnings.warn(
            f"the dense P in {self.dtype} lost positive definiteness and was restarted from I/delta; "
            'form="factored" cannot lose it',
            PositiveDefinitenessWarning,
            stacklevel=4,
        )

    def snapshot(self) -> DenseInverse:
        """A copy of the present P."""
        taken = copy.copy(self)
        taken.matrix = self.matrix.clone()
        return taken

    def gain(self, x: Tensor) -> Tensor:
        """k_n of Eq. kn for x (p,), in the dtype of P."""
        x = x.to(self.dtype)
        px = self.matrix @ x
        return px / (self.beta + torch.dot(x, px))

    def precondition(self, gradient: Tensor, out: Tensor | None = None) -> Tensor:
        """g P for g (m, p) in the dtype of P; the result may be written to ``out`` (m, p) of that dtype."""
        if len(gradient) == 1:
            return (self.matrix @ gradient[0]).unsqueeze(0)  # P is symmetric, and P g is faster for a single row
        return torch.mm(gradient, self.matrix, out=out)

    def dense(self) -> Tensor:
        """A copy of P."""
        return self.matrix.clone()

    def state(self) -> dict[str, Any]:
        """Tensors and numbers that restore this form."""
        return {"matrix": self.matrix.clone(), "rank": self.rank}

    def load(self, state: dict[str, Any]) -> None:
        """Restore from ``state()``."""
        self.matrix = state["matrix"].to(device=self.matrix.device, dtype=self.dtype, copy=True)
        self.rank = int(state["rank"])

    def to(self, device: torch.device, dtype: torch.dtype) -> None:
        """Move to a device and a dtype."""
        self.matrix, self.dtype = self.matrix.to(device=device, dtype=dtype), dtype
