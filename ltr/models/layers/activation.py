"""Activations by the names that pytracking's trackers use."""
from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional


def softmax_reg(x: Tensor, dim: int, reg: float | None = None) -> Tensor:
    """Softmax with a further outcome whose logit is ``reg``; without one where it is None."""
    if reg is None:
        return torch.softmax(x, dim)
    shape = list(x.shape)
    shape[dim] = 1
    return torch.softmax(torch.cat([x, x.new_full(shape, float(reg))], dim), dim).narrow(dim, 0, x.shape[dim])


class MLU(nn.Module):
    """The identity above 0, below it ``min_val`` times an exponential that levels off; ``inplace`` has no effect."""

    def __init__(self, min_val: float, inplace: bool = False) -> None:
        super().__init__()
        self.min_val = min_val

    def forward(self, input: Tensor) -> Tensor:
        return functional.elu(functional.leaky_relu(input, 1 / self.min_val), self.min_val)
