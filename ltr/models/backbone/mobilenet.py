"""MobileNetV2 (Sandler et al., 2018) with torchvision's parameter names, truncated to the layers that trackers need."""
from collections.abc import Sequence

import torch
from torch import Tensor, nn

# expansion, channels, blocks, stride of the first block: table 2 of the paper up to stride 16, plus the next stage, of
# which at most the first block's 1x1 expansion is used, which still runs at stride 16.
STAGE_TABLE = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2))


def _round_channels(channels: float, divisor: int = 8) -> int:
    rounded = max(divisor, int(channels + divisor / 2) // divisor * divisor)
    return rounded + divisor if rounded < 0.9 * channels else rounded


class StridedDepthwise(nn.Conv2d):
    """Uses single precision on CPUs, where bfloat16 gradients take ten times as long: a sixth of a training step."""

    def forward(self, x: Tensor) -> Tensor:
        if x.device.type != "cpu":
            return super().forward(x)
        with torch.autocast("cpu", enabled=False):
            return super().forward(x.to(self.weight.dtype))


def _conv_norm_act(channels_in: int, channels: int, kernel: int, stride: int = 1, groups: int = 1) -> nn.Sequential:
    kind = StridedDepthwise if stride > 1 and groups > 1 else nn.Conv2d
    conv = kind(channels_in, channels, kernel, stride, kernel // 2, groups=groups, bias=False)
    return nn.Sequential(conv, nn.BatchNorm2d(channels), nn.ReLU6(inplace=True))


class FrozenConv:
    """A folded convolution and its ReLU6 as a plain function: calling a module costs as much time as a thin layer."""

    __slots__ = ("bias", "clamped", "options", "weight")

    def __init__(self, conv: nn.Conv2d, clamped: bool) -> None:
        self.weight, self.bias = conv.weight, conv.bias
        self.options = (conv.stride, conv.padding, conv.dilation, conv.groups)
        self.clamped = clamped

    def __call__(self, x: Tensor) -> Tensor:
        out = torch.conv2d(x, self.weight, self.bias, *self.options)
        return torch.clamp_(out, 0, 6) if self.clamped else out


class InvertedResidual(nn.Module):
    """1x1 expansion, depthwise 3x3, linear 1x1 projection; a shortcut if the shapes match.

    With ``only_expansion``, the block ends after the 1x1 expansion.
    """

    def __init__(
        self, channels_in: int, channels: int, stride: int, expansion: int, only_expansion: bool = False
    ) -> None:
        super().__init__()
        hidden = channels_in * expansion
        self.hidden = hidden
        self.has_shortcut = stride == 1 and channels_in == channels and not only_expansion
        layers: list[nn.Module] = [_conv_norm_act(channels_in, hidden, 1)] if expansion != 1 else []
        if not only_expansion:
            layers += [
                _conv_norm_act(hidden, hidden, 3, stride, groups=hidden),
                nn.Conv2d(hidden, channels, 1, bias=False),
                nn.BatchNorm2d(channels),
            ]
        self.conv = nn.Sequential(*layers)
        self.frozen: list[FrozenConv] = []  # replaces conv after freeze

    def forward(self, x: Tensor) -> Tensor:
        return self.forward_with_expansion(x)[0]

    def forward_with_expansion(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The output and the hidden map after the expansion (at the stride of the input)."""
        first, *others = self.frozen or self.conv
        hidden = first(x)
        out = hidden
        for layer in others:
            out = layer(out)
        return (x + out if self.has_shortcut else out), hidden

    def freeze(self) -> None:
        """Switches to a faster equivalent for inference; batch norms must have been folded."""
        convs = [(module, False) for module in self.conv if isinstance(module, nn.Conv2d)]
        clamped = [(module[0], True) for module in self.conv if isinstance(module, nn.Sequential)]
        self.frozen = [FrozenConv(conv, clamp) for conv, clamp in clamped + convs]


class MobileNetV2(nn.Module):
    """MobileNetV2 up to the deepest tap; ``width`` scales all channel counts, ``taps`` maps output names to taps.

    A tap is ``"N"`` (output of ``features.N``, a linear bottleneck with few channels) or ``"Ne"`` (the 1x1 expansion
    inside ``features.N``, six times the channels, rectified). Taps at stride 8 are 4, 5, 6 (32 channels) and 7e (192);
    at stride 16, 7 … 10 (64), 11 … 13 (96), 8e … 11e (384) and 12e … 14e (576).
    """

    strides = {"layer2": 8, "layer3": 16}

    def __init__(self, taps: dict[str, str] | None = None, width: float = 1.0) -> None:
        super().__init__()
        self.taps = dict(taps or {"layer2": "6", "layer3": "14e"})
        deepest = max(int(tap.rstrip("e")) for tap in self.taps.values())
        only_expansion = f"{deepest}" not in self.taps.values()
        self.channels: dict[str, int] = {}
        channels = _round_channels(32 * width)
        blocks: list[nn.Module] = [_conv_norm_act(3, channels, 3, stride=2)]
        tap_strides, stride = {"0": 2}, 2
        tap_channels = {"0": channels}
        for expansion, base, count, first_stride in STAGE_TABLE:
            for index in range(count):
                number = len(blocks)
                if number > deepest:
                    break
                block_stride = first_stride if index == 0 else 1
                out = _round_channels(base * width)
                block = InvertedResidual(channels, out, block_stride, expansion, only_expansion and number == deepest)
                blocks.append(block)
                tap_strides[f"{number}e"], tap_channels[f"{number}e"] = stride, block.hidden
                stride, channels = stride * block_stride, out
                tap_strides[f"{number}"], tap_channels[f"{number}"] = stride, out
        self.features = nn.Sequential(*blocks)
        for name, tap in self.taps.items():
            if tap_strides.get(tap) != self.strides.get(name) or tap == "1e":
                valid = [t for t, s in tap_strides.items() if s == self.strides.get(name) and t != "1e"]
                raise ValueError(f"MobileNetV2 tap {tap!r} cannot be {name!r}; the taps at its stride are {valid}")
            self.channels[name] = tap_channels[tap]
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out")

    def forward(self, images: Tensor, layers: Sequence[str] = ("layer2", "layer3")) -> dict[str, Tensor]:
        """Feature maps by output name; see :meth:`ResNet.forward`."""
        unknown = [name for name in layers if name not in self.taps]
        if unknown:
            raise ValueError(f"backbone layers {unknown} do not exist; it has {list(self.taps)}")
        names = {self.taps[name]: name for name in layers}
        found: dict[str, Tensor] = {}
        x = images
        for number, block in enumerate(self.features):
            if f"{number}e" in names:
                x, found[names[f"{number}e"]] = block.forward_with_expansion(x)
            else:
                x = block(x)
            if f"{number}" in names:
                found[names[f"{number}"]] = x
            if len(found) == len(names):
                break
        return found

    def upper_blocks(self) -> nn.Sequential:
        """The blocks that compute "layer3" from "layer2", if both taps are outputs of whole blocks."""
        first, last = (int(self.taps[name]) for name in ("layer2", "layer3"))
        return self.features[first + 1 : last + 1]

    def drop_unused(self, layers: Sequence[str]) -> None:
        """Does nothing: layers past the deepest tap are never built."""
