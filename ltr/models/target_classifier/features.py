"""Turns backbone features into the features that the filter acts on."""
import math

from torch import Tensor, nn

from ltr.models.backbone.resnet import BasicBlock


class InstanceL2Norm(nn.Module):
    """Scales each image's whole feature map to the root mean square ``scale``; ``eps`` is added to the squared norm."""

    def __init__(self, scale: float, eps: float = 1e-5) -> None:
        super().__init__()
        self.scale = scale
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        energy = x.square().sum((1, 2, 3), keepdim=True) + self.eps  # (B, 1, 1, 1)
        return x * (self.scale * (x[0].numel() / energy).sqrt())

    def extra_repr(self) -> str:
        return f"scale={self.scale:.6g}, eps={self.eps:g}"


def classification_features(
    channels_in: int, channels_out: int, filter_size: int, blocks: int, final_conv: bool, normalise: bool
) -> nn.Sequential:
    """Residual blocks, a 3x3 convolution and an instance norm, each optional.

    The norm's scale gives windows of the filter's size unit energy on average.
    """
    if not final_conv and channels_in != channels_out:
        raise ValueError(f"without final_conv the features keep {channels_in} channels; out_feature_dim={channels_out}")
    layers: list[nn.Module] = [BasicBlock(channels_in, channels_in) for _ in range(blocks)]
    if final_conv:
        layers.append(nn.Conv2d(channels_in, channels_out, 3, padding=1, bias=False))
        nn.init.kaiming_normal_(layers[-1].weight, nonlinearity="relu")
    if normalise:
        layers.append(InstanceL2Norm(math.sqrt(1 / (channels_out * filter_size**2))))
    return nn.Sequential(*layers)
