"""Convolutions of tensors and tensor lists."""
from typing import Any

from torch import Tensor
from torch.nn import functional

from pytracking.compat.tensorlist import tensor_operation


@tensor_operation
def conv2d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, *, mode: str | None = None, **options: Any
) -> Tensor:
    """``torch.nn.functional.conv2d`` with an optional ``mode``: "same", "valid" or "full"."""
    if mode is None or mode == "valid":
        return functional.conv2d(input, weight, bias, **options)
    if mode not in ("same", "full"):
        raise ValueError(f"mode must be 'same', 'valid' or 'full', not {mode!r}")
    height, width = weight.shape[-2:]
    if mode == "full":
        return functional.conv2d(input, weight, bias, padding=(height - 1, width - 1), **options)
    out = functional.conv2d(input, weight, bias, padding=(height // 2, width // 2), **options)
    return out[..., : input.shape[-2], : input.shape[-1]]  # an even filter yields an extra row and column


@tensor_operation
def conv1x1(input: Tensor, weight: Tensor) -> Tensor:
    """A 1x1 convolution; the weight's last two dimensions may be missing."""
    return functional.conv2d(input, weight.reshape(len(weight), -1, 1, 1))
