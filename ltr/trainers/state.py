"""Training state on disk: written atomically, read without executing anything."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import nn

from ltr.errors import UserError
from ltr.torch_file import write_torch_file


def save_state(
    path: Path, network: nn.Module, optimizer: torch.optim.Optimizer, scaler_state: dict, progress: dict[str, Any]
) -> None:
    """Writes network, optimizer and progress to `path`, which is always either the old file or the complete new one."""
    state = {
        "network": network.state_dict(),
        "optimizer": optimizer.state_dict(),
        "scaler": scaler_state,
        "progress": progress,
    }
    write_torch_file(path, state)


def load_state(path: Path, device: torch.device) -> dict[str, Any]:
    """Reads what :func:`save_state` wrote."""
    try:
        return torch.load(path, map_location=device, weights_only=True)
    except Exception as error:
        raise UserError(f"{path} is not a readable training state ({error}): delete it to start again") from error
