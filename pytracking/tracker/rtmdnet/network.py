"""Loads an MDNet for tracking."""
from pathlib import Path

import torch

from ltr.checkpoint import load_network
from ltr.errors import UserError
from ltr.models.tracking.mdnet import MDNet


def load_mdnet(network_file: Path | None, device: torch.device, adaptive_align: bool) -> MDNet:
    """The network of a checkpoint, on ``device``.

    Raises:
        UserError: if no file is given, or the file holds another kind of network.
    """
    if network_file is None:
        raise UserError(
            "the tracker has no network: create it with pytracking.evaluation.Tracker(name, parameters)"
            ".create_tracker(), or set params.network_file to a checkpoint"
        )
    network = load_network(network_file, device, roi_kind="adaptive" if adaptive_align else "plain")
    if not isinstance(network, MDNet):
        raise UserError(f"{network_file} holds a {type(network).__name__}, but this tracker needs an MDNet")
    return network
