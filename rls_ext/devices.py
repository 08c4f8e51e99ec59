"""What differs between the CPU and an accelerator, where asking for a number waits for all that was given to it."""
from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import torch


def may_look(device: torch.device) -> bool:
    """Whether numbers may decide what happens; where not, input that cannot be used counts as zeros."""
    return device.type == "cpu"


def without_autocast(device: torch.device) -> AbstractContextManager[object]:
    """Full precision in this context; some devices have no mixed one."""
    try:
        return torch.autocast(device.type, enabled=False)
    except RuntimeError:
        return nullcontext()
