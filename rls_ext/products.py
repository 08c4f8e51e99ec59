"""Single-precision matrix products on the CPU by oneDNN, which comes with PyTorch.

PyTorch's own products go to MKL, which reaches half the speed on CPUs not made by Intel: 120 GFLOP/s against oneDNN's
260 (one thread of an AMD EPYC with AVX-512, torch 2.13). Both are equally accurate but differ in the last bit.

oneDNN sets up a kernel for each new size (0.5 ms) and caches it. If sizes change with every call and results take
megabytes, the cached kernels fragment memory and freed results cannot be reused; then use PyTorch's product with
``out``.
"""
import torch
from torch import Tensor

LEAST_WORK = 2**20  # multiplications; below this, oneDNN's overhead of ten microseconds per call matters
_linear = getattr(torch.ops.mkldnn, "_linear_pointwise", None) if torch.backends.mkldnn.is_available() else None


def product(left: Tensor, right: Tensor, bias: Tensor | None = None) -> Tensor:
    """``left @ right`` for (n, d) and (d, o), plus an optional bias (o,); autograd falls back to PyTorch's product."""
    work = left.shape[0] * left.shape[1] * right.shape[1]
    dtypes = {left.dtype, right.dtype, torch.float32}
    needs_grad = torch.is_grad_enabled() and (left.requires_grad or right.requires_grad)
    dense = right.is_contiguous() or right.T.is_contiguous()  # oneDNN is 1000 times slower on parts of matrices
    if _linear is None or work < LEAST_WORK or left.device.type != "cpu" or len(dtypes) > 1 or needs_grad or not dense:
        return left @ right if bias is None else torch.addmm(bias, left, right)
    bias = None if bias is None else bias.contiguous()  # oneDNN ignores its stride
    result: Tensor = _linear(left, right.T, bias, "none", [], "")
    return result
