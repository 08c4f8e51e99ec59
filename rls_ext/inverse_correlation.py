"""The matrix P_n of recursive least squares: one interface, whatever its representation."""
from __future__ import annotations

import copy
import math
from typing import Any

import torch
from torch import Tensor

from . import devices
from .basis import SMALL_DIM, PFactors
from .dense import DenseInverse
from .errors import HyperparameterError, NonFiniteInputError, ShapeError, StateMismatchError
from .factored import FactoredInverse

FORMS = ("auto", "dense", "factored")
ON_LOSS = ("recover", "raise")
WHEN_FULL = ("shift", "forget")
_DENSE_FRACTION = 0.35  # rank / dim from which a dense matrix is cheaper than the factored form


class InverseCorrelation:
    """P_n, the inverse of the correlation Phi_n of the inputs seen (Eqs. kn, inverse_Phi2 and initialcondition).

        Phi_0 = delta I,    Phi_n = beta Phi_(n-1) + x_n x_n^T,    P_n = Phi_n^-1.

    Args:
        dim: p, the length of an input.
        delta: P_0 = I/delta; positive.
        beta: Forgetting factor in (0, 1]; 1 forgets nothing.
        form: "dense" is the paper's recursion on a p x p matrix in any float type. "factored" is exact, takes O(p rank)
            memory and time, and stays positive definite whatever the inputs. "auto" starts factored and changes over
            once, when the rank makes a full matrix cheaper.
        dtype: Type of P and of its products. The factored form holds float32 rows (and a float64 core) for half types.
        device: Where P lives.
        on_loss: What to do when rounding makes a dense P indefinite: "recover" restarts it from I/delta with a
            ``PositiveDefinitenessWarning``, "raise" raises ``PositiveDefinitenessError`` and leaves P as it was.
        rank_tol: A new direction that would change P by less than this, relative to its norm, does not raise the rank
            of the factored form. Default 1e-7, or 1e-14 in float64.
        memory_budget: Bytes that P may hold, for streams without an end. While the directions seen fit, P is
            exact; then those in which P differs least from a multiple of the identity are given up, and ``error_bound``
            says how far P may be from exact. Default: no limit. Not for the dense form, whose size is fixed.
        when_full: What happens to directions that do not fit ``memory_budget``: "shift" shares their energy with all
            directions, which has the smallest error bound; "forget" treats them as if they had never been seen and
            leaves P elsewhere alone.

    On the CPU bad inputs raise at once. On other devices a check would wait for the device at every update, so there a
    non-finite input counts as zero; see ``update``.
    """

    def __init__(
        self,
        dim: int,
        *,
        delta: float,
        beta: float = 1.0,
        form: str = "auto",
        dtype: torch.dtype = torch.float32,
        device: torch.device | str | None = None,
        on_loss: str = "recover",
        rank_tol: float | None = None,
        memory_budget: int | None = None,
        when_full: str = "shift",
    ) -> None:
        if when_full not in WHEN_FULL:
            raise HyperparameterError(f"when_full must be one of {WHEN_FULL}, got {when_full!r}")
        _check_settings(dim, delta, beta, form, dtype, on_loss, rank_tol)
        if memory_budget is not None and form == "dense":
            raise HyperparameterError("memory_budget is for form='factored' or 'auto': a dense P always takes p * p")
        self.dim, self.delta, self.beta, self.form = int(dim), float(delta), float(beta), form
        self.on_loss, self.rank_tol, self.memory_budget, self.steps = on_loss, rank_tol, memory_budget, 0
        self.when_full = when_full
        place = torch.empty(0, device=device).device  # names the current device, as "cuda" alone does not
        self._impl = self._new_impl("dense" if form == "dense" else "factored", dtype, place)

    def _new_impl(self, kind: str, dtype: torch.dtype, device: torch.device) -> DenseInverse | FactoredInverse:
        if kind == "dense":
            return DenseInverse(self.dim, self.delta, self.beta, dtype, device, self.on_loss)
        whole = math.ceil(_DENSE_FRACTION * self.dim) if self.form == "auto" and self.dim <= SMALL_DIM else None
        return FactoredInverse(
            self.dim,
            self.delta,
            self.beta,
            dtype,
            device,
            rank_tol=self.rank_tol,
            whole_from=whole,
            memory_budget=self.memory_budget,
            when_full=self.when_full,
        )

    @property
    def dtype(self) -> torch.dtype:
        """Type of P."""
        return self._impl.dtype

    @property
    def device(self) -> torch.device:
        """Where P lives."""
        return self._impl.matrix.device if isinstance(self._impl, DenseInverse) else self._impl.device

    @property
    def current_form(self) -> str:
        """The representation in use now: "dense" or "factored"."""
        return self._impl.kind

    @property
    def rank(self) -> int:
        """Rank of P_n - alpha I: the number of independent directions seen (dense form: an upper bound of it)."""
        return self._impl.rank

    @property
    def nbytes(self) -> int:
        """Bytes of memory that P holds, reserve included."""
        return self._impl.nbytes

    @property
    def max_rank(self) -> int:
        """The highest rank that ``memory_budget`` has room for; p without one."""
        return self._impl.max_rank if isinstance(self._impl, FactoredInverse) else self.dim

    @property
    def truncations(self) -> int:
        """How often directions were given up because of ``memory_budget``, since this matrix was made or loaded."""
        return self._impl.truncations if isinstance(self._impl, FactoredInverse) else 0

    @property
    def error_bound(self) -> float:
        """Proven bound of |P_n - exact P_n| / alpha in the spectral norm, rounding aside; alpha = 1 / (delta beta^n).

        At most 1, and 0 while everything seen fits ``memory_budget``; always 0 without one.
        """
        return self._impl.bound.relative if isinstance(self._impl, FactoredInverse) else 0.0

    @property
    def row_cost(self) -> int:
        """Multiplications that ``precondition`` spends on one row of a gradient."""
        return self._impl.row_cost

    def reset(self) -> None:
        """Forget everything: P = I/delta, steps = 0."""
        self.steps = 0
        kind = "dense" if self.form == "dense" else "factored"
        self._impl = self._new_impl(kind, self.dtype, self.device)

    def update(self, x: Tensor) -> None:
        """Learn from x (p,), Eqs. kn and inverse_Phi2, or from a block (b, p): Phi <- beta Phi + X^T X.

        A block is exact (no virtual input) and takes one forgetting step.

        Raises:
            ShapeError: x is neither (p,) nor (b, p).
            NonFiniteInputError: x holds NaN or infinity (on the CPU; elsewhere such a block counts as zero).
            ForgettingOverflowError: beta < 1 has let P grow out of its dtype.
            PositiveDefinitenessError: dense form with ``on_loss="raise"``.
        In all cases P is left as it was.
        """
        block = self._as_block(x)
        self._impl.update(block)
        self.steps += 1
        if self.form == "auto" and self._dense_is_cheaper():
            impl = self._impl
            self._impl = DenseInverse.from_matrix(impl.dense(), self.delta, self.beta, impl.rank, self.on_loss)

    def _dense_is_cheaper(self) -> bool:
        return (
            self.dim > SMALL_DIM
            and self.memory_budget is None
            and isinstance(self._impl, FactoredInverse)
            and self._impl.rows >= _DENSE_FRACTION * self.dim
        )

    def _as_block(self, x: Tensor) -> Tensor:
        if x.dim() not in (1, 2) or x.shape[-1] != self.dim or x.numel() == 0:
            raise ShapeError(f"x must be ({self.dim},) or (b, {self.dim}) with b > 0, got {tuple(x.shape)}")
        if not x.is_floating_point():
            raise HyperparameterError(f"x must be a float tensor, got {x.dtype}")
        block = x.detach().reshape(-1, self.dim).to(self.device)
        narrow = block.to(self.dtype)
        if not devices.may_look(self.device):
            return torch.where(torch.isfinite(narrow).all(), narrow, 0)
        # the sum is finite only if all its terms are; it may overflow without them, so a second look decides
        if not (math.isfinite(float(narrow.sum())) or bool(torch.isfinite(narrow).all())):
            raise NonFiniteInputError(
                f"x holds NaN, infinity or numbers too large for {self.dtype}; P is unchanged after {self.steps} steps"
            )
        return narrow

    def precondition(self, g: Tensor, out: Tensor | None = None) -> Tensor:
        """g P_n for g (..., p), in g's dtype; ``out`` is memory for it, of g's shape and dtype, and may be g itself."""
        if g.dim() == 0 or g.shape[-1] != self.dim:
            raise ShapeError(f"g must be (..., {self.dim}), got {tuple(g.shape)}")
        if out is not None and (out.shape != g.shape or out.dtype != g.dtype):
            raise ShapeError(f"out must be {tuple(g.shape)} {g.dtype} as g is, got {tuple(out.shape)} {out.dtype}")
        rows = g.detach().reshape(-1, self.dim).to(self._impl.product_dtype)
        if out is None:
            return self._impl.precondition(rows).to(g.dtype).view(g.shape)
        fits = out.dim() == 2 and out.dtype == rows.dtype
        if out.data_ptr() == rows.data_ptr():
            fits = fits and self._impl.works_in_place
        product = self._impl.precondition(rows, out if fits else None).reshape(g.shape)
        return product if product.data_ptr() == out.data_ptr() else out.copy_(product)

    def gain(self, x: Tensor) -> Tensor:
        """k_n of Eq. kn, (p,): what the next ``update(x)`` will apply. Equal to x^T P_n after it (Eq. kn2)."""
        if x.shape != (self.dim,):
            raise ShapeError(f"x must be ({self.dim},), got {tuple(x.shape)}")
        return self._impl.gain(x.detach().to(self.device)).to(self.dtype)

    def factors(self) -> PFactors | None:
        """P in its factors, in the type of its products; None where it is kept as a full matrix."""
        return self._impl.factors() if isinstance(self._impl, FactoredInverse) else None

    def only_appends(self, count: int) -> bool:
        """Whether updates by ``count`` more inputs only append rows to the basis of ``factors()``."""
        return isinstance(self._impl, FactoredInverse) and self._impl.only_appends(count)

    def snapshot(self) -> InverseCorrelation:
        """The present P, to return to later. It shares memory, so continue with only one of the two."""
        taken = copy.copy(self)
        taken._impl = self._impl.snapshot()
        return taken

    def dense(self) -> Tensor:
        """P_n as a new (p, p) tensor."""
        return self._impl.dense()

    def to(
        self, device: torch.device | str | None = None, dtype: torch.dtype | None = None
    ) -> InverseCorrelation:
        """Move to a device and/or a dtype, in place; returns itself."""
        target = self.dtype if dtype is None else dtype
        if not target.is_floating_point:
            raise HyperparameterError(f"dtype must be a float type, got {target}")
        self._impl.to(self.device if device is None else torch.empty(0, device=device).device, target)
        return self

    def state_dict(self) -> dict[str, Any]:
        """Everything needed to continue later: plain numbers, strings and tensors."""
        return {
            "dim": self.dim,
            "delta": self.delta,
            "beta": self.beta,
            "steps": self.steps,
            "form": self.current_form,
            "impl": self._impl.state(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore a ``state_dict()`` of a matrix with the same dim, delta and beta."""
        for key in ("dim", "delta", "beta", "steps", "form", "impl"):
            if key not in state:
                raise StateMismatchError(f"state has no {key!r}: not a state dict of InverseCorrelation")
        for key in ("dim", "delta", "beta"):
            if state[key] != getattr(self, key):
                raise StateMismatchError(f"state was saved with {key}={state[key]}, here it is {getattr(self, key)}")
        if self.form not in ("auto", state["form"]):
            raise StateMismatchError(f"state holds a {state['form']} matrix, this one is form={self.form!r}")
        impl = self._new_impl(state["form"], self.dtype, self.device)
        impl.load(state["impl"])
        self._impl, self.steps = impl, int(state["steps"])

    def __repr__(self) -> str:
        return (
            f"InverseCorrelation({self.dim}, delta={self.delta}, beta={self.beta}, form={self.form!r}, "
            f"dtype={self.dtype}, device={str(self.device)!r}): {self.current_form} after {self.steps} steps"
        )


def _check_settings(
    dim: int, delta: float, beta: float, form: str, dtype: torch.dtype, on_loss: str, rank_tol: float | None
) -> None:
    if int(dim) != dim or dim < 1:
        raise HyperparameterError(f"dim must be a positive integer, got {dim}")
    if not (delta > 0 and math.isfinite(delta)):
        raise HyperparameterError(f"delta must be positive and finite (P_0 = I/delta), got {delta}")
    if not 0 < beta <= 1:
        raise HyperparameterError(f"beta must lie in (0, 1], got {beta}")
    if form not in FORMS:
        raise HyperparameterError(f"form must be one of {FORMS}, got {form!r}")
    if not dtype.is_floating_point:
        raise HyperparameterError(f"dtype must be a float type, got {dtype}")
    if 1.0 / delta > torch.finfo(dtype).max:
        raise HyperparameterError(f"1/delta = {1.0 / delta:g} does not fit {dtype}; use a larger delta or wider dtype")
    if on_loss not in ON_LOSS:
        raise HyperparameterError(f"on_loss must be one of {ON_LOSS}, got {on_loss!r}")
    if rank_tol is not None and not 0 <= rank_tol < 1:
        raise HyperparameterError(f"rank_tol must lie in [0, 1), got {rank_tol}")
