"""RT-MDNet's RoI sampling: a few interpolated points per box instead of means over its bins.

In every variant, a point is a weighted sum of a few cells, and the weights are products of a vertical and a horizontal
factor. A call computes taps along each axis, their products, and one weighted gather from the feature map.

The geometry keeps the published operator's conventions, even odd ones, because trained weights rely on them: a box's
extent is ``x2 - x1 + 1`` with the 1 in feature cells, and points at or beyond the map's end give zero.
"""
import torch
from torch import Tensor, nn
from torch.nn import functional

KINDS = ("plain", "adaptive", "dense")


def _axis_taps(
    start: Tensor, end: Tensor, points: int, length: int, kind: str
) -> tuple[Tensor, Tensor]:
    """Cells and weights of ``points`` points from ``start`` to ``end`` (N,), along an axis of ``length`` cells."""
    extent = (end - start + 1).clamp(min=0)
    spacing = extent / (points - 1 if kind == "plain" else points)  # only "plain" reaches the box's end
    position = torch.arange(points, dtype=start.dtype, device=start.device) * spacing[:, None] + start[:, None]
    inside = (position >= 0) & (position < length)
    cell = torch.where(inside, position, 0).floor().clamp(max=length - 2)  # (N, points)
    if kind == "plain":
        stride = torch.ones_like(spacing)
    else:
        stride = (spacing + 0.5).floor().clamp(min=1)  # rounds half up; extents are not negative
    if kind == "dense":
        steps = torch.arange(int(stride.max()) + 1 if len(stride) else 2, dtype=start.dtype, device=start.device)
    else:
        steps = torch.arange(2, dtype=start.dtype, device=start.device)
    offset = steps if kind == "dense" else steps * stride[:, None]  # (T,) or (N, T)
    offset = offset.expand(len(start), -1)[:, None]  # (N, 1, T)
    distance = position[..., None] - cell[..., None] - offset
    if kind == "plain":  # extrapolates beyond the last cell's centre: weights below 0 and above 1
        ratio = (position - cell)[..., None]
        weight = torch.cat([1 - ratio, ratio], -1)
    else:
        weight = 1 - distance.abs() / stride[:, None, None]
    if kind == "dense":
        weight = weight * (offset <= stride[:, None, None])
        weight = weight / weight.sum(-1, keepdim=True)
    tap = (cell[..., None] + offset).long()
    valid = inside[..., None] & (tap >= 0) & (tap < length)
    return tap.clamp(0, length - 1), torch.where(valid, weight, 0)


def roi_sample(
    features: Tensor, rois: Tensor, output_size: int | tuple[int, int], spatial_scale: float, kind: str = "plain"
) -> Tensor:
    """Samples a grid of points from each box.

    Args:
        features: (B, C, H, W).
        rois: rows ``image index, x1, y1, x2, y2`` in image pixels (N, 5).
        output_size: numbers of vertical and horizontal points, or one number for both.
        spatial_scale: cells per image pixel.
        kind: "plain" interpolates between neighbouring cells; "adaptive" between cells as far apart as the points;
            "dense" averages all cells in between with weights.

    Returns:
        Samples (N, C, rows, columns) in channels-last layout, differentiable in ``features``.
    """
    if kind not in KINDS:
        raise ValueError(f"kind={kind!r} is not known; use one of {KINDS}")
    if features.dim() != 4 or rois.dim() != 2 or rois.shape[1] != 5:
        raise ValueError(
            f"roi_sample takes features (B, C, H, W) and rois (N, 5); got {tuple(features.shape)}, {tuple(rois.shape)}"
        )
    rows, columns = (output_size, output_size) if isinstance(output_size, int) else output_size
    images, channels, height, width = features.shape
    _, x1, y1, x2, y2 = (rois.to(torch.promote_types(rois.dtype, torch.float32)) * spatial_scale).unbind(1)
    row, row_weight = _axis_taps(y1, y2, rows, height, kind)  # (N, rows, T)
    column, column_weight = _axis_taps(x1, x2, columns, width, kind)  # (N, columns, T')
    image = rois[:, 0].long()
    check = len(rois) and rois.device.type == "cpu"  # would synchronise other devices
    if check and not 0 <= int(image.min()) <= int(image.max()) < images:
        raise ValueError(f"rois refer to images {int(image.min())} to {int(image.max())} of {images}")

    cell = (image[:, None, None] * height + row) * width  # (N, rows, T)
    index = cell[:, :, None, :, None] + column[:, None, :, None, :]  # (N, rows, columns, T, T')
    weight = row_weight[:, :, None, :, None] * column_weight[:, None, :, None, :]
    table = features.permute(0, 2, 3, 1).reshape(-1, channels)  # (B * H * W, C)
    sampled = weighted_rows(table, index.flatten(0, 2).flatten(1), weight.flatten(0, 2).flatten(1).to(features.dtype))
    return sampled.view(len(rois), rows, columns, channels).permute(0, 3, 1, 2)


def weighted_rows(table: Tensor, index: Tensor, weight: Tensor) -> Tensor:
    """``sum_t weight[m, t] * table[index[m, t]]`` (M, C)."""
    if table.device.type in ("cpu", "cuda") and table.dtype in (torch.float32, torch.float64):
        return functional.embedding_bag(index, table, per_sample_weights=weight, mode="sum")
    total = table.new_zeros(len(index), table.shape[1])
    for tap in range(index.shape[1]):
        total = total + table[index[:, tap]] * weight[:, tap, None]
    return total


class RoISampler(nn.Module):
    """:func:`roi_sample` followed by RT-MDNet's pooling of the sampled points.

    Args:
        size: side of the output.
        pooling: "max" samples ``size + 4`` points per side and max-pools 3x3 with stride 2; "avg" samples ``size + 1``
            and averages 2x2; "none" returns the points.
    """

    def __init__(self, size: int, spatial_scale: float, kind: str = "adaptive", pooling: str = "max") -> None:
        super().__init__()
        if kind not in KINDS or pooling not in ("max", "avg", "none"):
            raise ValueError(f"kind={kind!r}, pooling={pooling!r}; known: {KINDS}, ('max', 'avg', 'none')")
        if pooling == "max" and size != 3:
            raise ValueError(f"max pooling turns 7 points into 3 cells per side; size={size} is not possible")
        self.size, self.spatial_scale, self.kind, self.pooling = size, spatial_scale, kind, pooling

    def forward(self, features: Tensor, rois: Tensor) -> Tensor:
        points = self.size + {"max": 4, "avg": 1, "none": 0}[self.pooling]
        sampled = roi_sample(features, rois, points, self.spatial_scale, self.kind)
        if self.pooling == "max":
            return functional.max_pool2d(sampled, 3, stride=2)
        return functional.avg_pool2d(sampled, 2, stride=1) if self.pooling == "avg" else sampled
