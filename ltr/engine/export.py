"""A DiMP network as ONNX files for other programs and devices."""
from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor, nn

from ltr.checkpoint import load_network
from ltr.engine import frozen_graph
from ltr.engine.box_head import map_graph
from ltr.engine.deployment_graphs import learning_graph, patch_graph, score_graph
from ltr.errors import UserError
from ltr.models.inference import prepare_for_inference
from ltr.models.target_classifier import SteepestDescentOptimizer
from ltr.models.target_classifier.filtering import half_cell_offset
from ltr.models.tracking.dimpnet import DiMPNet, FrozenFeatures

EXAMPLE = Path(__file__).with_name("example_tracker.py")
README = """# {name} as ONNX

- `patch.onnx`: `crop` (rows, columns, 3), RGB bytes, and the `side` (2,) wanted, to `image` (1, 3, rows, columns),
  resized and normalised.
- `features.onnx`: `images` (n, 3, h, w) to {maps}, the features that the target's filter acts on (`classification`) and
  the map that its first guess is pooled from (`initial`).
- `learn.onnx`: `features`, `initial` and the target's `centre` and `size` (y, x, pixels of the patch) to the `filter`
  after {steps} steps on the learned loss, for patches of {side} x {side} pixels.
- `scores.onnx`: `features` and `filter` to `scores`.
- `boxes.onnx`: the IoU-Net's convolutions on a part of `layer2` and `layer3` (inputs `fine`, `coarse`; the margins say
  how many zeros belong around each convolution's input, as ONNX's Pad takes them; the target's factors are multiplied
  to the result).
- `settings.npz`: the tracker's settings.
- `track.py`: tracks a video with numpy and onnxruntime alone:

      ffmpeg -v error -i VIDEO -f rawvideo -pix_fmt rgb24 - | python track.py WIDTH HEIGHT X Y W H

Any number and size of images goes through `features.onnx` (sides in multiples of 16 pixels). Operator set 17: ONNX
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
        UserError: if it is not a DiMP network whose loss the example knows.
    """
    network = load_network(path)
    known = isinstance(network, DiMPNet) and isinstance(network.classifier.filter_optimizer, SteepestDescentOptimizer)
    if not known:
        kind = type(network).__name__
        raise UserError(f"{path} holds a {kind}; only a DiMPNet with DiMP's own loss can be exported")
    return prepare_for_inference(network)


def exported_files(name: str, network: DiMPNet, settings: dict[str, Any]) -> dict[str, bytes]:
    """Contents of all files by name.

    Args:
        name: of the network, for the README.
        network: made by :func:`ltr.models.inference.prepare_for_inference`, on the CPU.
        settings: of the tracker, numbers.
    """
    cells = settings["side"] // network.feature_stride
    archive = io.BytesIO()
    np.savez(archive, **settings, offset=half_cell_offset(settings["side"], cells, network.filter_size))
    maps = ", ".join(f"`{layer}`" for layer in network.output_layers)
    return {
        "patch.onnx": patch_graph(),
        "features.onnx": frozen_graph(network, _WithInitial(network)),
        "learn.onnx": learning_graph(network, settings["steps"], cells),
        "scores.onnx": score_graph(network),
        "boxes.onnx": map_graph(network.bb_regressor),
        "settings.npz": archive.getvalue(),
        "track.py": EXAMPLE.read_bytes(),
        "README.md": README.format(name=name, maps=maps, **settings).encode(),
    }
