"""A DiMP network as ONNX files for other programs and devices."""
from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor, nn

from ltr.checkpoint import load_network
from ltr.engine import box_graph, frozen_graph
from ltr.models.inference import prepare_for_inference
from ltr.models.target_classifier import SteepestDescentOptimizer
from ltr.models.tracking.backbone_and_box_head import IMAGE_MEAN, IMAGE_STD
from ltr.models.tracking.dimpnet import DiMPNet, FrozenFeatures

EXAMPLE = Path(__file__).with_name("example_tracker.py")
README = """# {name} as ONNX

- `features.onnx`: `images` (n, 3, h, w), RGB, `(pixel / 255 - mean) / std`, to {maps}, the features that the
  target's filter acts on (`classification`) and the map that its first guess is pooled from (`initial`).
- `boxes.onnx`: the IoU-Net's convolutions on a part of `layer2` and `layer3` (inputs `fine`, `coarse`; the margins say
  how many zeros belong around each convolution's input, as ONNX's Pad takes them).
- `settings.npz`: the learned objective (label, mask and weight over distance), and the tracker's settings.
- `track.py`: tracks a video with numpy and onnxruntime alone:

      ffmpeg -v error -i VIDEO -f rawvideo -pix_fmt rgb24 - | python track.py WIDTH HEIGHT X Y W H

Any number and size of images goes through the graphs (sides that are multiples of 16 pixels). Operator set 17: ONNX
Runtime from 1.12 on, and converters for other runtimes. Weights are float32.
"""


class _WithInitial(nn.Module):
    """The frozen part, and what the filter's first guess is pooled from."""

    def __init__(self, network: DiMPNet) -> None:
        super().__init__()
        self.frozen = FrozenFeatures(network)
        initializer = network.classifier.filter_initializer
        self.conv = initializer.filter_conv
        self.factor = 1 / (self.conv.out_channels * network.filter_size**2) if initializer.filter_norm else 1.0
        self.outputs = {**self.frozen.outputs, "initial": self.conv.out_channels}

    def forward(self, images: Tensor) -> tuple[Tensor, ...]:
        maps = self.frozen(images)
        return (*maps, self.conv(maps[-1]) * self.factor)


def load_for_export(path: Path) -> DiMPNet:
    """The network of a checkpoint, its batch norms folded.

    Raises:
        ValueError: if it is not a DiMP network whose loss the example knows.
    """
    network = load_network(path)
    known = isinstance(network, DiMPNet) and isinstance(network.classifier.filter_optimizer, SteepestDescentOptimizer)
    if not known:
        kind = type(network).__name__
        raise ValueError(f"{path} holds a {kind}; only a DiMPNet with DiMP's own loss can be exported")
    return prepare_for_inference(network)


def objective_settings(network: DiMPNet) -> dict[str, Any]:
    """What a program needs to learn the filter."""
    optimizer = network.classifier.filter_optimizer
    layers = (optimizer.label_map_predictor, optimizer.target_mask_predictor[0], optimizer.spatial_weight_predictor)
    return {
        "mean": np.array(IMAGE_MEAN, np.float32).reshape(3, 1, 1),
        "std": np.array(IMAGE_STD, np.float32).reshape(3, 1, 1),
        "tables": np.stack([layer.weight.detach().flatten().numpy() for layer in layers]),
        "bin": optimizer.bin_displacement,
        "reg": float(optimizer.regularisation()),
        "step": float(optimizer.log_step_length.exp()),
        "kernel": network.filter_size,
        "stride": network.feature_stride,
    }


def exported_files(name: str, network: DiMPNet, settings: dict[str, Any]) -> dict[str, bytes]:
    """Contents of all files by name.

    Args:
        name: of the network, for the README.
        network: made by :func:`ltr.models.inference.prepare_for_inference`, on the CPU.
        settings: of the tracker, numbers and arrays.
    """
    archive = io.BytesIO()
    np.savez(archive, **objective_settings(network), **settings)
    maps = ", ".join(f"`{layer}`" for layer in network.output_layers)
    return {
        "features.onnx": frozen_graph(network, _WithInitial(network)),
        "boxes.onnx": box_graph(network.bb_regressor),
        "settings.npz": archive.getvalue(),
        "track.py": EXAMPLE.read_bytes(),
        "README.md": README.format(name=name, maps=maps).encode(),
    }
