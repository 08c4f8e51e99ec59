"""What differs between the CPU and an accelerator, where asking for a number waits for all that was given to it."""
from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor


def may_look(device: torch.device) -> bool:
    """Whether numbers may decide what happens; where not, input that cannot be used counts as zeros."""
    return device.type == "cpu"


def in_full_precision(device: torch.device, compute: Callable[[], Tensor]) -> Tensor:
    """What ``compute`` gives without autocast, which some devices do not have."""
    try:
        full_precision = torch.autocast(device.type, enabled=False)
    except RuntimeError:
        return compute()
    with full_precision:
        return compute()
