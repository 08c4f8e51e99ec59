"""Loading a DiMP network for tracking."""
from pathlib import Path
from typing import Any

import torch

from ltr.checkpoint import load_network
from ltr.engine import attach_engine
from ltr.errors import UserError
from ltr.models.inference import prepare_for_inference
from ltr.models.target_classifier import DensityOptimizer
from ltr.models.tracking.backbone_and_box_head import BackboneAndBoxHead
from ltr.models.tracking.dimpnet import DiMPNet
from pytracking.tracker.base import TrackerParams
from pytracking.utils.device import wanted_engine
from pytracking.utils.threads import most_threads

SMALL_BACKBONE = 2_000_000  # parameters; operations of a MobileNetV2 are too short to gain from a second thread


def require_file(network_file: Path | None) -> Path:
    """Returns the file; UserError with advice if there is none."""
    if network_file is None:
        raise UserError(
            "the tracker has no network: create it with pytracking.evaluation.Tracker(name, parameters)"
            ".create_tracker(), or set params.network_file to a checkpoint"
        )
    return network_file


def load_dimp_network(network_file: Path | None, device: torch.device, objective: str = "network") -> DiMPNet:
    """Loads a DiMPNet to ``device``, with folded batch norms; UserError if the checkpoint holds another network.

    Objective "network" keeps the network's own online loss. "density" uses PrDiMP's, with PrDiMP's published values if
    the network was made for another loss; this lets PrDiMP's parameters run on the bundled network.
    """
    network = load_network(require_file(network_file), device)
    if not isinstance(network, DiMPNet):
        raise UserError(f"{network_file} holds a {type(network).__name__}, but this tracker needs a DiMPNet")
    if objective not in ("network", "density"):
        raise UserError(f"objective must be 'network' or 'density', got {objective!r}")
    own = network.classifier.filter_optimizer
    if objective == "density" and not isinstance(own, DensityOptimizer):
        network.classifier.filter_optimizer = DensityOptimizer(own.num_iter, own.feature_stride).to(device).eval()
    return prepare_for_inference(network, channels_last=device.type != "mps")


def with_engine(network: BackboneAndBoxHead, params: TrackerParams, device: torch.device) -> BackboneAndBoxHead:
    """Attaches the engine chosen by the parameters; returns the network."""
    attach_engine(network, wanted_engine(params.engine), device, most_threads(params.cpu_threads))
    return network


def describe_computing(network: BackboneAndBoxHead, params: TrackerParams) -> dict[str, Any]:
    """The engine in use, its threads, and torch's: one, unless torch runs the convolutions of a large backbone."""
    size = sum(parameter.numel() for parameter in network.feature_extractor.parameters())
    most, large = most_threads(params.cpu_threads), size > SMALL_BACKBONE
    if network.engine is None:
        return {"engine": "torch", "cpu_threads": most, "torch_threads": most if large else 1}
    return {"engine": "onnxruntime", "cpu_threads": most, "torch_threads": 1}
