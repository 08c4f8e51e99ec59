"""MDNet (Nam and Han, 2016) in its real-time form (Jung et al., 2018): shared layers and one binary branch per domain.

conv1 to conv3 run once per scene, boxes are sampled from the resulting map, and fc4 to fc6 score them. Input is RGB
minus 128.
"""
import math
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import torch
from torch import Tensor, nn

from ltr.models import imagenet
from ltr.ops import RoISampler

IMAGE_OFFSET = 128.0


@dataclass(frozen=True, slots=True)
class ConvSpec:
    """One convolution, its ReLU and the optional layers after it."""

    channels: int
    kernel: int
    stride: int = 1
    dilation: int = 1
    response_norm: bool = False
    max_pool: bool = False  # 3x3, stride 2


SPECS: dict[str, tuple[ConvSpec, ConvSpec, ConvSpec]] = {
    # RT-MDNet as published: VGG-M with a dilated conv3 instead of the second pooling; receptive field 75, stride 8
    "vggm": (
        ConvSpec(96, 7, stride=2, response_norm=True, max_pool=True),
        ConvSpec(256, 5, stride=2, response_norm=True),
        ConvSpec(512, 3, dilation=3),
    ),
    # The original MDNet: same parameters, both poolings, no dilation; stride 16
    "vggm_original": (
        ConvSpec(96, 7, stride=2, response_norm=True, max_pool=True),
        ConvSpec(256, 5, stride=2, response_norm=True, max_pool=True),
        ConvSpec(512, 3),
    ),
    # AlexNet's conv1-3 in torchvision's shapes, dilation instead of the second pooling; receptive field 83, stride 8
    "alexnet": (
        ConvSpec(64, 11, stride=4, max_pool=True),
        ConvSpec(192, 5),
        ConvSpec(384, 3, dilation=2),
    ),
}


class ResponseNorm(nn.Module):
    """Local response normalisation over one channel and one cell: ``x / (2 + 1e-4 x^2)^0.75``."""

    def forward(self, x: Tensor) -> Tensor:
        root = torch.rsqrt(2 + 1e-4 * x.square())
        return x * root * root.sqrt()  # unlike a general power, rsqrt and sqrt are vectorised


class MDNet(nn.Module):
    """Shared layers ``layers.conv1 … fc5`` and ``branches`` (fc6, one per training domain).

    Files contain only the shared layers, since every sequence starts with a new branch.

    Args:
        num_branches: training domains; one in a tracker.
        roi_kind: sampling variant: "plain" as in the published training, "adaptive" as in its tracker, or "dense".
    """

    unstored_prefixes = ("branches.",)

    def __init__(
        self,
        spec: Sequence[ConvSpec],
        num_branches: int = 1,
        hidden: int = 512,
        roi_size: int = 3,
        roi_kind: str = "adaptive",
    ) -> None:
        super().__init__()
        if len(spec) != 3 or num_branches < 1:
            raise ValueError(f"MDNet has 3 convolutions and at least 1 branch, not {len(spec)} and {num_branches}")
        self.spec = tuple(spec)
        blocks: OrderedDict[str, nn.Module] = OrderedDict()
        channels = 3
        for index, conv in enumerate(spec):
            blocks[f"conv{index + 1}"] = _conv_block(channels, conv)
            channels = conv.channels
        self.feature_size = channels * roi_size**2
        blocks["fc4"] = nn.Sequential(nn.Linear(self.feature_size, hidden), nn.ReLU(inplace=True))
        blocks["fc5"] = nn.Sequential(nn.Dropout(0.5), nn.Linear(hidden, hidden), nn.ReLU(inplace=True))
        self.layers = nn.Sequential(blocks)
        self.branches = nn.ModuleList(
            nn.Sequential(nn.Dropout(0.5), nn.Linear(hidden, 2)) for _ in range(num_branches)
        )
        self.roi_sampler = RoISampler(roi_size, 1 / self.stride, roi_kind)
        self.metadata: dict = {}

    @property
    def stride(self) -> int:
        """Image pixels per cell of the feature map."""
        return math.prod(conv.stride * (2 if conv.max_pool else 1) for conv in self.spec)

    @property
    def receptive_field(self) -> int:
        """Side in image pixels of the region that one cell sees."""
        size, jump = 1, 1
        for conv in self.spec:
            size += (conv.kernel - 1) * conv.dilation * jump
            jump *= conv.stride
            if conv.max_pool:
                size, jump = size + 2 * jump, jump * 2
        return size

    @staticmethod
    def normalise(images: Tensor) -> Tensor:
        """Normalises RGB 0..255 for conv1."""
        return images - IMAGE_OFFSET

    def feature_map(self, images: Tensor) -> Tensor:
        """Features (B, C, h, w) after conv1 to conv3, for images (B, 3, H, W) minus 128."""
        x = images if images.device.type == "mps" else images.contiguous(memory_format=torch.channels_last)
        return self.layers.conv3(self.layers.conv2(self.layers.conv1(x)))

    def roi_features(self, feature_map: Tensor, rois: Tensor) -> Tensor:
        """Flattened samples (N, channels * size * size) of boxes ``image index, x1, y1, x2, y2`` (N, 5)."""
        return self.roi_sampler(feature_map, rois).flatten(1)

    def classify(self, features: Tensor, branch: int = 0) -> Tensor:
        """fc4 to fc6 of sampled boxes (N, D): logits (N, 2), index 1 for the target."""
        return self.branches[branch](self.layers.fc5(self.layers.fc4(features)))

    def forward(self, images: Tensor, rois: Tensor, branch: int = 0) -> Tensor:
        """Logits (N, 2) of boxes in a batch of scenes, for training on one domain."""
        return self.classify(self.roi_features(self.feature_map(images), rois), branch)

    def reset_branch(self, branch: int = 0, generator: torch.Generator | None = None) -> None:
        """Redraws a branch's weights uniformly within 1/sqrt(inputs), torch's default for linear layers."""
        linear = self.branches[branch][1]
        bound = 1 / math.sqrt(linear.in_features)
        with torch.no_grad():
            for parameter in (linear.weight, linear.bias):
                drawn = torch.rand(parameter.shape, generator=generator, dtype=parameter.dtype)
                parameter.copy_(drawn * (2 * bound) - bound)


def _conv_block(channels: int, spec: ConvSpec) -> nn.Sequential:
    conv = nn.Conv2d(channels, spec.channels, spec.kernel, spec.stride, dilation=spec.dilation)
    layers: list[nn.Module] = [conv, nn.ReLU(inplace=True)]
    if spec.response_norm:
        layers.append(ResponseNorm())
    if spec.max_pool:
        layers.append(nn.MaxPool2d(3, stride=2))
    return nn.Sequential(*layers)


def mdnet(
    *,
    spec: str | Sequence[Mapping] = "vggm",
    num_branches: int = 1,
    hidden: int = 512,
    roi_size: int = 3,
    roi_kind: str = "adaptive",
) -> MDNet:
    """Builds an MDNet from the name or the description of its convolutions.

    Args:
        spec: "vggm" (published RT-MDNet), "vggm_original" (published MDNet), "alexnet", or three dictionaries of
            :class:`ConvSpec`'s fields.
    """
    if isinstance(spec, str):
        if spec not in SPECS:
            raise ValueError(f"spec={spec!r} is not known; use one of {list(SPECS)} or three descriptions")
        convolutions = SPECS[spec]
    else:
        convolutions = tuple(ConvSpec(**(asdict(c) if isinstance(c, ConvSpec) else c)) for c in spec)
    return MDNet(convolutions, num_branches, hidden, roi_size, roi_kind)


def alexnet_convolutions(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Converts torchvision's AlexNet convolutions to MDNet's, with the image normalisation folded into conv1."""
    result = {}
    for number, source in enumerate((0, 3, 6), 1):
        for kind in ("weight", "bias"):
            result[f"layers.conv{number}.0.{kind}"] = state[f"features.{source}.{kind}"].float().clone()
    mean, std = (torch.tensor(values).view(1, 3, 1, 1) * 255 for values in (imagenet.MEAN, imagenet.STD))
    weight = result["layers.conv1.0.weight"] / std
    result["layers.conv1.0.bias"] += (weight * (IMAGE_OFFSET - mean)).sum((1, 2, 3))
    result["layers.conv1.0.weight"] = weight
    return result
