"""Loading an MDNet for tracking."""
from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TypeVar

import torch

from ltr.checkpoint import load_network
from ltr.models.tracking.mdnet import MDNet
from pytracking.tracker.rtmdnet.params import RTMDNetParams

Params = TypeVar("Params", bound=RTMDNetParams)


def load_mdnet(network_file: Path | None, device: torch.device, adaptive_align: bool) -> MDNet:
    """The network of a checkpoint, on ``device``.

    Raises:
        ValueError: if no file is given, or the file holds another kind of network.
    """
    if network_file is None:
        raise ValueError(
            "the tracker has no network: create it with pytracking.evaluation.Tracker(name, parameters)"
            ".create_tracker(), or set params.network_file to a checkpoint"
        )
    network = load_network(network_file, device, roi_kind="adaptive" if adaptive_align else "plain")
    if not isinstance(network, MDNet):
        raise ValueError(f"{network_file} holds a {type(network).__name__}, but this tracker needs an MDNet")
    return network


def recommended_params(params: Params, network: MDNet) -> Params:
    """The parameters with what the network's file recommends for trackers that run on it.

    Raises:
        ValueError: if the file recommends a parameter that does not exist.
    """
    wanted = dict(network.metadata.get("tracker") or {})
    known = {field.name for field in dataclasses.fields(params)}
    unknown = sorted(set(wanted) - known)
    if unknown:
        raise ValueError(f"{params.network_file} recommends {', '.join(unknown)}: not among this tracker's parameters")
    return dataclasses.replace(params, **wanted)
