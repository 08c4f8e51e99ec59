"""Residual networks (He et al., 2016) with torchvision's parameter names."""
from collections.abc import Sequence

from torch import Tensor, nn

STAGES = ("layer1", "layer2", "layer3", "layer4")


class BasicBlock(nn.Module):
    """Two 3x3 convolutions and a shortcut."""

    expansion = 1

    def __init__(self, channels_in: int, channels: int, stride: int = 1, stride_on_first: bool = False) -> None:
        super().__init__()
        del stride_on_first  # basic blocks always have their stride on the first convolution
        self.conv1 = nn.Conv2d(channels_in, channels, 3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = _shortcut(channels_in, channels * self.expansion, stride)

    def forward(self, x: Tensor) -> Tensor:
        shortcut = x if self.downsample is None else self.downsample(x)
        x = self.relu(self.bn1(self.conv1(x)))
        x = self.bn2(self.conv2(x))
        return self.relu(x + shortcut)


class Bottleneck(nn.Module):
    """1x1, 3x3, 1x1 convolutions and a shortcut; the output has four times as many channels as the 3x3."""

    expansion = 4

    def __init__(self, channels_in: int, channels: int, stride: int = 1, stride_on_first: bool = False) -> None:
        super().__init__()
        first, second = (stride, 1) if stride_on_first else (1, stride)
        self.conv1 = nn.Conv2d(channels_in, channels, 1, stride=first, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, stride=second, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)
        self.conv3 = nn.Conv2d(channels, channels * self.expansion, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(channels * self.expansion)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = _shortcut(channels_in, channels * self.expansion, stride)

    def forward(self, x: Tensor) -> Tensor:
        shortcut = x if self.downsample is None else self.downsample(x)
        x = self.relu(self.bn1(self.conv1(x)))
        x = self.relu(self.bn2(self.conv2(x)))
        x = self.bn3(self.conv3(x))
        return self.relu(x + shortcut)


def _shortcut(channels_in: int, channels_out: int, stride: int) -> nn.Sequential | None:
    if stride == 1 and channels_in == channels_out:
        return None
    return nn.Sequential(
        nn.Conv2d(channels_in, channels_out, 1, stride=stride, bias=False), nn.BatchNorm2d(channels_out)
    )


class ResNet(nn.Module):
    """A residual network that returns the requested stages and computes nothing past the deepest of them.

    Published checkpoints contain ``layer4`` and the 1000-way ``fc``, although no tracker uses them. They are built by
    default so that these files load strictly; ``last_stage=3, num_classes=None`` omits them.

    Args:
        last_stage: number of stages to build (1 to 4).
        num_classes: outputs of ``fc``, or None for no ``fc``.
        stride_on_first: put a bottleneck stage's stride on its first 1x1 convolution (original Caffe weights) instead
            of the 3x3 (torchvision).
    """

    strides = {"conv1": 2, "layer1": 4, "layer2": 8, "layer3": 16, "layer4": 32}

    def __init__(
        self,
        block: type[BasicBlock] | type[Bottleneck],
        depths: Sequence[int],
        *,
        last_stage: int = 4,
        num_classes: int | None = 1000,
        stride_on_first: bool = False,
    ) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 7, stride=2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, stride=2, padding=1)
        self.channels = {"conv1": 64}
        channels_in = 64
        for stage, depth in list(enumerate(depths))[:last_stage]:
            blocks = []
            for index in range(depth):
                stride = 2 if stage > 0 and index == 0 else 1
                blocks.append(block(channels_in, 64 * 2**stage, stride, stride_on_first))
                channels_in = 64 * 2**stage * block.expansion
            self.add_module(STAGES[stage], nn.Sequential(*blocks))
            self.channels[STAGES[stage]] = channels_in
        if num_classes is not None:
            self.fc = nn.Linear(channels_in, num_classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, images: Tensor, layers: Sequence[str] = ("layer2", "layer3")) -> dict[str, Tensor]:
        """Maps by name of normalised RGB (B, 3, H, W); layers are "conv1" (after its ReLU), "layer1" … "layer4"."""
        unknown = [name for name in layers if name not in self.channels]
        if unknown:
            raise ValueError(f"backbone layers {unknown} do not exist; it has {list(self.channels)}")
        x = self.relu(self.bn1(self.conv1(images)))
        found = {"conv1": x} if "conv1" in layers else {}
        x = self.maxpool(x)
        for name in STAGES:
            if len(found) == len(set(layers)):
                break
            x = getattr(self, name)(x)
            if name in layers:
                found[name] = x
        return found

    def drop_unused(self, layers: Sequence[str]) -> None:
        """Removes the stages past the deepest of ``layers`` from a loaded network, and so from its state dict."""
        deepest = max(self.strides[name] for name in layers)
        for name in [*STAGES, "fc"]:
            if hasattr(self, name) and self.strides.get(name, 64) > deepest:
                delattr(self, name)
                self.channels.pop(name, None)


def resnet18(**options) -> ResNet:
    """ResNet-18; options as for :class:`ResNet`."""
    return ResNet(BasicBlock, (2, 2, 2, 2), **options)


def resnet50(**options) -> ResNet:
    """ResNet-50; options as for :class:`ResNet`."""
    return ResNet(Bottleneck, (3, 4, 6, 3), **options)
