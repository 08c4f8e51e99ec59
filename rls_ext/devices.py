"""Differences between the CPU and accelerators, where reading a value waits for all queued work."""
from collections.abc import Callable

import torch
from torch import Tensor


def may_look(device: torch.device) -> bool:
    """Whether code may branch on the values of tensors; where it may not, unusable input counts as zeros."""
    return device.type == "cpu"


def in_full_precision(device: torch.device, compute: Callable[[], Tensor]) -> Tensor:
    """Call ``compute`` with autocast disabled, if the device supports autocast at all."""
    try:
        full_precision = torch.autocast(device.type, enabled=False)
    except RuntimeError:
        return compute()
    with full_precision:
        return compute()
