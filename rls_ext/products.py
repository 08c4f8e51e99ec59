"""Matrix products in single precision on a CPU, by oneDNN, which is part of PyTorch.

PyTorch's own products go to MKL, which uses half of what processors of other makers can do: 120 GFLOP/s where oneDNN
reaches 260 (one thread of an AMD EPYC with AVX-512, torch 2.13). Both round alike, but not to the same last bit.

oneDNN prepares for each new size (0.5 ms) and keeps what it has prepared. Where the size changes with every call and
results are megabytes large, this keeps freed results from being used again: there, take PyTorch's product with ``out``.
"""
from __future__ import annotations

import torch
from torch import Tensor

LEAST_WORK = 2**20  # multiplications; for fewer, oneDNN's ten microseconds per call matter
_linear = getattr(torch.ops.mkldnn, "_linear_pointwise", None) if torch.backends.mkldnn.is_available() else None


def product(left: Tensor, right: Tensor, bias: Tensor | None = None) -> Tensor:
    """``left @ right``, (n, d) and (d, o), plus a bias (o,) for each row; not for tensors that require gradients."""
    work = left.shape[0] * left.shape[1] * right.shape[1]
    kinds = {left.dtype, right.dtype, torch.float32}
    derived = torch.is_grad_enabled() and (left.requires_grad or right.requires_grad)
    dense = right.is_contiguous() or right.T.is_contiguous()  # for parts of matrices oneDNN is 1000 times slower
    if _linear is None or work < LEAST_WORK or left.device.type != "cpu" or len(kinds) > 1 or derived or not dense:
        return left @ right if bias is None else torch.addmm(bias, left, right)
    bias = None if bias is None else bias.contiguous()  # oneDNN does not look at its stride
    multiplied: Tensor = _linear(left, right.T, bias, "none", [], "")
    return multiplied
