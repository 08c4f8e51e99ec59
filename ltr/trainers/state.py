"""Training state on disk: written atomically, read without executing pickled code."""
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
    """Writes network, optimizer and progress to `path` atomically."""
    state = {
        "network": network.state_dict(),
        "optimizer": optimizer.state_dict(),
        "scaler": scaler_state,
        "progress": progress,
    }
    write_torch_file(path, state)


def load_state(path: Path, device: torch.device) -> dict[str, Any]:
    """Reads a file of :func:`save_state`."""
    try:
        return torch.load(path, map_location=device, weights_only=True)
    except Exception as error:
        raise UserError(f"{path} is not a readable training state ({error}): delete it to start over") from error
