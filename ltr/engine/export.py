"""Exports a DiMP network as ONNX files for other programs and devices."""
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

- `patch.onnx`: resizes and normalises a `crop` (rows, columns, 3), RGB bytes, to the given `side` (2,); output `image`
  (1, 3, rows, columns).
- `features.onnx`: computes, from `images` (n, 3, h, w), {maps}, the features that the target's filter acts on
  (`classification`) and the map from which the initial filter is pooled (`initial`).
- `learn.onnx`: learns the `filter` from `features`, `initial` and the target's `centre` and `size` (y, x, pixels of the
  patch) in {steps} steps on the learned loss, for patches of {side} x {side} pixels.
- `scores.onnx`: computes `scores` from `features` and `filter`.
- `boxes.onnx`: the IoU-Net's convolutions on windows of `layer2` and `layer3` (inputs `fine`, `coarse`). The margins
  are the zero padding of each convolution's input in the format of ONNX's Pad; outputs are multiplied by the target's
  factors.
- `settings.npz`: the tracker's settings.
- `track.py`: tracks a video with only numpy and onnxruntime:

      ffmpeg -v error -i VIDEO -f rawvideo -pix_fmt rgb24 - | python track.py WIDTH HEIGHT X Y W H

`features.onnx` takes any number and size of images (sides in multiples of 16 pixels). Operator set 17: ONNX Runtime
1.12 or later, and converters for other runtimes. Weights are float32.
"""


class _WithInitial(nn.Module):
    """The frozen part, plus the map from which the initial filter is pooled."""

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
    """Loads a checkpoint's network and folds its batch norms.

    Raises:
        UserError: if it is not a DiMP network with DiMP's own loss, which `learning_graph` implements.
    """
    network = load_network(path)
    known = isinstance(network, DiMPNet) and isinstance(network.classifier.filter_optimizer, SteepestDescentOptimizer)
    if not known:
        kind = type(network).__name__
        raise UserError(f"{path} holds a {kind}; only a DiMPNet with DiMP's own loss can be exported")
    return prepare_for_inference(network)


def exported_files(name: str, network: DiMPNet, settings: dict[str, Any]) -> dict[str, bytes]:
    """Contents of all exported files by name.

    Args:
        name: of the network, for the README.
        network: result of :func:`ltr.models.inference.prepare_for_inference`, on the CPU.
        settings: numbers that the example tracker needs.
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
