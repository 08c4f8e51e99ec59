"""Initial filters: pooled features of the target."""
from torch import Tensor, nn

from ltr.ops import corners_from_xywh, pool_boxes


class FilterInitializer(nn.Module):
    """A 3x3 convolution, then precise RoI pooling of the target to the filter's size, averaged over the images.

    Args:
        filter_norm: divide by the number of filter weights.
    """

    def __init__(self, channels: int, filter_size: int, feature_stride: int = 16, filter_norm: bool = False) -> None:
        super().__init__()
        self.filter_conv = nn.Conv2d(channels, channels, 3, padding=1)
        nn.init.kaiming_normal_(self.filter_conv.weight, nonlinearity="relu")
        nn.init.zeros_(self.filter_conv.bias)
        self.filter_size = filter_size
        self.feature_stride = feature_stride
        self.filter_norm = filter_norm

    def forward(self, features: Tensor, boxes: Tensor) -> Tensor:
        """Filters (S, C, k, k) from features (S, N, C, H, W) and boxes xywh in image pixels (S, N, 4)."""
        sequences, count = features.shape[:2]
        maps = self.filter_conv(features.flatten(0, 1))
        corners = corners_from_xywh(boxes).reshape(-1, 1, 4)
        if not self.training and maps.device.type == "cpu":
            # Steepest descent amplifies rounding here; this runs once per sequence, so double precision costs little.
            maps, corners = maps.double(), corners.double()
        pooled = pool_boxes(maps, corners, self.filter_size, 1 / self.feature_stride)  # (S*N, 1, C, k, k)
        pooled = pooled.to(features.dtype)
        filters = pooled.reshape(sequences, count, *pooled.shape[2:]).mean(1)
        return filters / filters[0].numel() if self.filter_norm else filters


class FilterInitializerZero(nn.Module):
    """Initial filters of zeros (feature_dim, filter_size, filter_size)."""

    def __init__(self, filter_size: int = 1, feature_dim: int = 256) -> None:
        super().__init__()
        self.shape = (feature_dim, filter_size, filter_size)

    def forward(self, features: Tensor, boxes: Tensor) -> Tensor:
        """Filters (S, C, k, k) for features (S, N, C, H, W)."""
        return features.new_zeros(len(features), *self.shape)
