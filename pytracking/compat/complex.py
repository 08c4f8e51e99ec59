"""Complex numbers as pairs in the last dimension, torch's layout before it had complex tensors."""
import builtins

import torch
from torch import Tensor

from pytracking.compat.tensorlist import tensor_operation


def is_complex(a: Tensor) -> bool:
    """Whether the last dimension may hold complex pairs."""
    return a.dim() >= 4 and a.shape[-1] == 2


@tensor_operation
def complex(a: Tensor, b: Tensor | None = None) -> Tensor:  # noqa: A001  (pytracking's name)
    """Combines real and imaginary parts into pairs; ``b`` defaults to 0."""
    return torch.stack([a, torch.zeros_like(a) if b is None else b], -1)


@tensor_operation
def real(a: Tensor) -> Tensor:
    return a[..., 0]


@tensor_operation
def imag(a: Tensor) -> Tensor:
    return a[..., 1]


@tensor_operation
def conj(a: Tensor) -> Tensor:
    return torch.stack([a[..., 0], -a[..., 1]], -1)


@tensor_operation
def mult(a: Tensor, b: Tensor) -> Tensor:
    """Multiplies; a factor without pairs counts as real."""
    return _real_or_product(a, b, conjugate=False)


@tensor_operation
def mult_conj(a: Tensor, b: Tensor) -> Tensor:
    """Multiplies by the conjugate of ``b``."""
    return _real_or_product(a, b, conjugate=True)


@tensor_operation
def abs(a: Tensor) -> Tensor:  # noqa: A001
    return a.square().sum(-1).sqrt()


@tensor_operation
def abs_sqr(a: Tensor) -> Tensor:
    return a.square().sum(-1)


@tensor_operation
def exp_imag(phi: Tensor) -> Tensor:
    """Returns exp(i phi)."""
    return torch.stack([phi.cos(), phi.sin()], -1)


def _real_or_product(a: Tensor, b: Tensor, conjugate: builtins.bool) -> Tensor:
    if not is_complex(a):
        return a[..., None] * (conj(b) if conjugate else b)
    if not is_complex(b):
        return a * b[..., None]
    second = torch.view_as_complex(b.contiguous())
    product = torch.view_as_complex(a.contiguous()) * (second.conj() if conjugate else second)
    return torch.view_as_real(product)
