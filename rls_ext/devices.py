"""Differences between the CPU and accelerators, where reading a number waits for all queued work."""
from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor


def may_look(device: torch.device) -> bool:
    """Whether code may branch on values; if not, unusable input counts as zeros."""
    return device.type == "cpu"


def in_full_precision(device: torch.device, compute: Callable[[], Tensor]) -> Tensor:
    """What ``compute`` gives without autocast, which some devices do not have."""
    try:
        full_precision = torch.autocast(device.type, enabled=False)
    except RuntimeError:
        return compute()
    with full_precision:
        return compute()
