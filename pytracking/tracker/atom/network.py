"""Loading ATOM's network, from its own checkpoint or from another network's."""
from pathlib import Path

import torch

from ltr.checkpoint import load_network
from ltr.errors import UserError
from ltr.models.bbreg.atom import ATOMNet
from ltr.models.inference import prepare_for_inference
from ltr.models.tracking.backbone_and_box_head import BackboneAndBoxHead
from pytracking.tracker.dimp.network import require_file


def load_atom_network(network_file: Path | None, device: torch.device) -> ATOMNet:
    """Loads ATOM's network, or the backbone and IoU-Net of a DiMP network: ATOM's classifier is learnt online."""
    network = load_network(require_file(network_file), device)
    if not isinstance(network, BackboneAndBoxHead):
        raise UserError(f"{network_file} holds a {type(network).__name__}, but ATOM needs a backbone and an IoU-Net")
    if not isinstance(network, ATOMNet):
        recommended = network.metadata
        network = ATOMNet(network.feature_extractor, network.bb_regressor).eval()
        network.metadata = recommended
    return prepare_for_inference(network, channels_last=device.type != "mps")
