"""Activations under the names that pytracking's trackers use."""
import torch
from torch import Tensor


def softmax_reg(x: Tensor, dim: int, reg: float | None = None) -> Tensor:
    """Softmax with an additional outcome of logit ``reg``, which is not returned; plain softmax if ``reg`` is None."""
    if reg is None:
        return torch.softmax(x, dim)
    shape = list(x.shape)
    shape[dim] = 1
    return torch.softmax(torch.cat([x, x.new_full(shape, float(reg))], dim), dim).narrow(dim, 0, x.shape[dim])
