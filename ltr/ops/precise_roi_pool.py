"""Precise RoI pooling: the exact mean of a bilinearly interpolated feature map over each bin of a box.

Bilinear interpolation is a sum of products of hat functions, ``f(y, x) = sum_kl F[k, l] hat(y - k) hat(x - l)``,
so its integral over a rectangle separates. With ``A[i, k]`` the mean of ``hat(. - k)`` over the i-th vertical bin and
``B[j, l]`` likewise for the horizontal ones, the pooled map is ``A F B^T``: two small matrix products per box. A and B
are smooth in the box's corners, so the result is differentiable in boxes as well as in features.
"""
import torch
from torch import Tensor


def integrated_hat_weights(start: Tensor, end: Tensor, bins: int, first: int, length: int) -> Tensor:
    """Means of ``length`` hat functions over each of ``bins`` equal parts of intervals whose ends (...) are in cells.

    The hats belong to the cells from ``first`` on. Weights (..., bins, length) are zero where ``end <= start``.
    """
    return _HatMeans.apply(start, end, bins, first, length)


class _HatMeans(torch.autograd.Function):
    """:func:`integrated_hat_weights` with its derivative in closed form.

    For a bin [a, a + s], the derivative of the hat's mean is (hat(a + s) - hat(a)) / s when the bin is shifted and
    (hat(a + s) - mean) / s when it is widened. Unlike the branches of the forward computation, these are continuous, so
    an edge near a cell's centre gets the same gradient whichever side it is rounded to.
    """

    @staticmethod
    def forward(ctx, start: Tensor, end: Tensor, bins: int, first: int, length: int) -> Tensor:
        left, step, density = _bins(start, end, bins, first, length)
        mean = (_mass_on_flank(left, step, -1.0, rising=True) + _mass_on_flank(left, step, 0.0, rising=False)) * density
        ctx.save_for_backward(start, end, mean)
        ctx.bins, ctx.first, ctx.length = bins, first, length
        return mean

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, gradient: Tensor) -> tuple[Tensor, Tensor, None, None, None]:
        start, end, mean = ctx.saved_tensors
        left, step, density = _bins(start, end, ctx.bins, ctx.first, ctx.length)
        hat_left, hat_right = (1 - left.abs()).clamp(min=0), (1 - (left + step).abs()).clamp(min=0)
        shift, widen = (hat_right - hat_left) * density, (hat_right - mean) * density / ctx.bins
        part = torch.arange(ctx.bins, dtype=start.dtype, device=start.device)[:, None] / ctx.bins
        at_end = part * shift + widen
        return (gradient * (shift - at_end)).sum((-1, -2)), (gradient * at_end).sum((-1, -2)), None, None, None


def _bins(start: Tensor, end: Tensor, bins: int, first: int, length: int) -> tuple[Tensor, Tensor, Tensor]:
    """Left edge of each bin relative to each hat (..., bins, length); the bins' width and its inverse (..., 1, 1)."""
    step = ((end - start).clamp(min=0) / bins)[..., None, None]
    index = torch.arange(bins, dtype=start.dtype, device=start.device)[:, None]
    centres = torch.arange(first, first + length, dtype=start.dtype, device=start.device)
    left = start[..., None, None] + step * index - centres
    return left, step, torch.where(step > 0, 1 / step, 0.0)


def _mass_on_flank(left: Tensor, step: Tensor, flank_start: float, *, rising: bool) -> Tensor:
    """Integral of one straight flank of the hat over the bin [left, left + step].

    The midpoint rule is exact on a straight line. Lengths are computed as ``step`` minus the parts outside the flank,
    not as differences of edges, so bins much smaller than a cell lose no digits in single precision.
    """
    before = (flank_start - left).clamp(min=0)
    after = (left + step - (flank_start + 1)).clamp(min=0)
    inside = (step - before - after).clamp(min=0)
    middle = left + 0.5 * (step + before - after)
    return inside * (1 + middle if rising else 1 - middle)


def _covered(start: Tensor, end: Tensor, length: int) -> tuple[int, int]:
    """Cells (first, count) that the boxes touch; all cells on accelerators, where finding out would synchronise."""
    if start.device.type != "cpu" or not start.numel():
        return 0, length
    low, high = start.detach().min(), end.detach().max()
    if not bool(torch.isfinite(low) & torch.isfinite(high)):
        return 0, length
    first = min(max(int(torch.floor(low)), 0), length - 1)
    last = min(max(int(torch.ceil(high)), first), length - 1)
    return first, last - first + 1


def corners_from_xywh(boxes: Tensor) -> Tensor:
    """Converts boxes ``x, y, w, h`` (..., 4) to corners ``x1, y1, x2, y2``."""
    return torch.cat([boxes[..., :2], boxes[..., :2] + boxes[..., 2:]], -1)


def pool_boxes(features: Tensor, boxes: Tensor, output_size: int | tuple[int, int], spatial_scale: float) -> Tensor:
    """Pools the same number of boxes from each image of a batch.

    Args:
        features: maps (B, C, H, W), taken as zero outside.
        boxes: corners ``x1, y1, x2, y2`` in image pixels (B, N, 4).
        output_size: numbers of vertical and horizontal bins, or one number for both.
        spatial_scale: cells per image pixel, e.g. 1/16.

    Returns:
        Bin means (B, N, C, rows, columns), differentiable in ``features`` and ``boxes``.
    """
    rows, columns = (output_size, output_size) if isinstance(output_size, int) else output_size
    images, channels, height, width = features.shape
    count = boxes.shape[1]
    precision = torch.promote_types(boxes.dtype, torch.float32)  # half precision would move corners by whole pixels
    x1, y1, x2, y2 = (boxes.to(precision) * spatial_scale).unbind(-1)  # (B, N) each
    empty = (x2 <= x1) | (y2 <= y1)
    top, visible_rows = _covered(y1, y2, height)
    left, visible_columns = _covered(x1, x2, width)
    vertical = integrated_hat_weights(y1, y2, rows, top, visible_rows)  # (B, N, rows, h)
    vertical = vertical.masked_fill(empty[..., None, None], 0)  # value and gradient are 0 if either side is empty
    horizontal = integrated_hat_weights(x1, x2, columns, left, visible_columns)  # (B, N, columns, w)

    window = features[:, :, top : top + visible_rows, left : left + visible_columns]
    window = window.permute(0, 2, 3, 1).reshape(images, visible_rows, visible_columns * channels)
    vertical = vertical.to(features.dtype).reshape(images, count * rows, visible_rows)
    strips = (vertical @ window).reshape(images, count, rows, visible_columns, channels)
    pooled = horizontal.to(features.dtype)[:, :, None] @ strips  # (B, N, rows, columns, C)
    return pooled.permute(0, 1, 4, 2, 3)
