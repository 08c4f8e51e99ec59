"""Initial weights: backbones from files, convolutions near the identity."""
from pathlib import Path

import torch
from torch import nn

from ltr.errors import UserError


def load_backbone_weights(network: nn.Module, path: Path, prefix: str = "") -> None:
    """Loads the parameters and buffers whose names start with ``prefix`` from a file of plain tensors.

    Other tensors in the file are ignored.
    """
    stored = torch.load(path, map_location="cpu", weights_only=True)
    wanted = [name for name in network.state_dict() if name.startswith(prefix)]
    absent = [name for name in wanted if name not in stored and not name.endswith("num_batches_tracked")]
    if absent:
        raise UserError(f"{path} lacks {len(absent)} entries of {type(network).__name__}, such as {absent[0]!r}")
    network.load_state_dict({name: stored[name].float() for name in wanted if name in stored}, strict=False)


@torch.no_grad()
def near_identity_head(conv: nn.Conv2d, seed: int, spread: float = 0.3) -> None:
    """Initialises a 3x3 convolution to copy its input, with small random filters in any further channels.

    A classification head that starts this way is as good as the raw backbone features from the first step.
    """
    generator = torch.Generator().manual_seed(seed)
    copied = min(conv.in_channels, conv.out_channels)
    fan_in = conv.in_channels * conv.kernel_size[0] * conv.kernel_size[1]
    conv.weight.normal_(0, spread * fan_in**-0.5, generator=generator)
    middle = conv.kernel_size[0] // 2
    conv.weight[:copied] *= 0.1
    conv.weight[range(copied), range(copied), middle, middle] += 1.0


@torch.no_grad()
def near_identity_initializer(conv: nn.Conv2d, seed: int, gain: float = 0.5) -> None:
    """Initialises the filter initialiser's convolution so that the first filter is the target's pooled features."""
    near_identity_head(conv, seed, spread=0.05)
    conv.weight *= gain
    conv.bias.zero_()
