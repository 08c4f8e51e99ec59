"""Selects the device and the engine that a tracker runs on."""
import os

import torch

from ltr.errors import UserError

ENGINE_VARIABLE = "PYTRACKING_ENGINE"  # set by --engine


def select_device(name: str = "auto") -> torch.device:
    """Returns the device named ``"auto"``, ``"cuda:1"`` etc.; UserError if this machine does not have it."""
    if name == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda")
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise UserError(f"unknown device {name!r}; use 'auto', 'cpu', 'cuda', 'cuda:1' or 'mps'") from error
    present = {
        "cpu": True,
        "cuda": torch.cuda.is_available() and (device.index or 0) < torch.cuda.device_count(),
        "mps": torch.backends.mps.is_available(),
    }.get(device.type, True)
    if not present:
        raise UserError(f"device {name!r} is not available on this machine; use 'auto' or 'cpu'")
    return device


def wanted_engine(name: str = "auto") -> str:
    """The parameter ``engine``, or the environment's choice if that is "auto"; see :mod:`ltr.engine`."""
    return os.environ.get(ENGINE_VARIABLE) or "auto" if name == "auto" else name
