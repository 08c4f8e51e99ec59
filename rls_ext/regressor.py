"""The exact recursive least-squares estimator of a linear map (Eq. normalequ_memo6)."""
from typing import Any

import torch
from torch import Tensor

from . import devices
from .errors import HyperparameterError, NonFiniteInputError, ShapeError, StateMismatchError
from .inverse_correlation import InverseCorrelation


class RLSRegressor:
    """W_n, the minimiser of Eq. costfunctionLS over all samples seen, without storing them.

    W_n = W_(n-1) - (W_(n-1) x_n - y_n) x_n^T P_n, and for a block W_n = W_(n-1) - (X W^T - Y)^T X P_n: from
    W_n Phi_n = Z_n = beta Z_(n-1) + Y^T X = W_(n-1) (Phi_n - X^T X) + Y^T X, exact for any block size.

    Args:
        delta: Weight of |W|^2 in the cost, forgotten with time when beta < 1; positive.
        form: Representation of P, as for ``InverseCorrelation``.
        dtype: Precision of W and P; float64 by default, for an exact estimate.
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        delta: float,
        beta: float = 1.0,
        *,
        form: str = "auto",
        dtype: torch.dtype = torch.float64,
        device: torch.device | str | None = None,
    ) -> None:
        if out_features < 1:
            raise HyperparameterError(f"out_features must be positive, got {out_features}")
        self.inverse = InverseCorrelation(in_features, delta=delta, beta=beta, form=form, dtype=dtype, device=device)
        self.weight = torch.zeros(out_features, in_features, dtype=dtype, device=self.inverse.device)  # (q, p)

    def update(self, x: Tensor, y: Tensor) -> None:
        """Learn from one pair, x (p,) and y (q,), or from a block, X (b, p) and Y (b, q), as one forgetting step."""
        q, p = self.weight.shape
        if x.dim() not in (1, 2) or x.shape[-1] != p or y.shape != (*x.shape[:-1], q):
            got = f"got {tuple(x.shape)}, {tuple(y.shape)}"
            raise ShapeError(f"x, y must be ({p},), ({q},) or (b, {p}), (b, {q}); {got}")
        inputs, targets = x.detach().to(self.weight).reshape(-1, p), y.detach().to(self.weight).reshape(-1, q)
        if not devices.may_look(self.weight.device):
            fits = torch.isfinite(inputs).all() & torch.isfinite(targets).all()
            inputs, targets = torch.where(fits, inputs, 0), torch.where(fits, targets, 0)
        elif not bool(torch.isfinite(targets).all()):
            raise NonFiniteInputError("y holds NaN or infinity; the estimate is unchanged")
        residual = inputs @ self.weight.T - targets  # (b, q)
        self.inverse.update(inputs)  # refuses non-finite inputs before anything changes
        self.weight -= residual.T @ self.inverse.precondition(inputs)

    def predict(self, x: Tensor) -> Tensor:
        """W_n x for x (..., p) -> (..., q), in the regressor's dtype."""
        if x.dim() == 0 or x.shape[-1] != self.weight.shape[1]:
            raise ShapeError(f"x must be (..., {self.weight.shape[1]}), got {tuple(x.shape)}")
        return x.to(self.weight) @ self.weight.T

    def reset(self) -> None:
        """Forget everything: W = 0, P = I/delta."""
        self.weight.zero_()
        self.inverse.reset()

    def state_dict(self) -> dict[str, Any]:
        """Everything needed to continue later."""
        return {"weight": self.weight.clone(), "inverse": self.inverse.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore a ``state_dict()`` of a regressor of the same shape, delta and beta."""
        weight = state["weight"]
        if weight.shape != self.weight.shape:
            shapes = f"{tuple(weight.shape)}, this regressor {tuple(self.weight.shape)}"
            raise StateMismatchError(f"state has weight {shapes}")
        self.inverse.load_state_dict(state["inverse"])
        self.weight.copy_(weight)
