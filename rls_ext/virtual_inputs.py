"""Virtual inputs: one vector that represents a block of samples in an update of P (Eqs. mean2 and mean3)."""
import math

import torch
import torch.nn.functional as F
from torch import Tensor

from .errors import HyperparameterError, ShapeError

_Pair = tuple[int, int]
_Sides = int | tuple[int, ...]  # one number for both, or height and width


def virtual_input_linear(inputs: Tensor, bias: bool = True) -> Tensor:
    """The virtual input of a fully connected layer, Eq. mean2: the mean of the inputs of a mini-batch.

    Args:
        inputs: The layer's inputs, (..., p); all leading dimensions count as samples. A single (p,) is its own mean.
        bias: Extend the input by a 1, so that P also covers the layer's bias.

    Returns:
        (p + 1,) with bias, otherwise (p,); at least float32.
    """
    if inputs.dim() == 0 or inputs.numel() == 0:
        raise ShapeError(f"inputs must be (..., p) with at least one sample, got {tuple(inputs.shape)}")
    rows = _at_least_float32(inputs).reshape(-1, inputs.shape[-1])  # (b, p)
    mean = rows.mean(dim=0)
    return torch.cat((mean, mean.new_ones(1))) if bias else mean


def virtual_input_conv(
    features: Tensor,
    kernel_size: _Sides,
    weights: Tensor | None = None,
    stride: _Sides = 1,
    padding: _Sides | None = None,
    *,
    dilation: _Sides = 1,
    bias: bool = False,
    rooted: bool = False,
) -> Tensor:
    """The virtual input of a convolution, Eq. mean3: sum over samples j, positions k of sqrt(gamma_jk) x_jk / sqrt(NM).

    x_jk are the patches under the filter. They are never unfolded: the sum is a correlation of each feature map with
    its weight map, a matrix product with the (small) unfolded weights instead of the (large) unfolded features.

    Args:
        features: (N, C, H, W).
        kernel_size: Size of the filter.
        weights: gamma, non-negative: (N, Ho, Wo) or (N, 1, Ho, Wo) per position of the filter's output, (N,) per
            sample, or None for 1 everywhere.
        stride: Stride of the positions.
        padding: Zero padding on every side; None means kernel_size // 2, the padding of DiMP's filter.
        dilation: Dilation of the filter.
        bias: Extend every patch by a 1, so that P also covers the filter's bias.
        rooted: ``weights`` is already sqrt(gamma); then it may be negative.

    Returns:
        (C * kh * kw,) in the order channel, row, column (the order of a flattened filter), one entry longer with bias.
    """
    if features.dim() != 4 or features.numel() == 0:
        raise ShapeError(f"features must be a non-empty (N, C, H, W), got {tuple(features.shape)}")
    kernel, stride_yx, dilation_yx = _pair(kernel_size), _pair(stride), _pair(dilation)
    pad = (kernel[0] // 2, kernel[1] // 2) if padding is None else _pair(padding)
    if min(kernel + stride_yx + dilation_yx) < 1 or min(pad) < 0:
        raise HyperparameterError("kernel_size, stride and dilation must be at least 1 and padding at least 0")
    count, channels, *size = features.shape
    reach = tuple(d * (k - 1) for d, k in zip(dilation_yx, kernel, strict=True))
    out = tuple((n + 2 * p - r - 1) // s + 1 for n, p, r, s in zip(size, pad, reach, stride_yx, strict=True))
    if min(out) < 1:
        raise ShapeError(f"a {kernel} filter does not fit into features of {tuple(size)} with padding {pad}")
    features = _at_least_float32(features)
    roots = _root_maps(weights, rooted, (count, out[0], out[1]), features)  # (N, Ho, Wo)
    taps = _weights_per_tap(roots, size, kernel, stride_yx, pad, dilation_yx)  # (N, kh kw, HW)
    total = torch.bmm(taps, features.reshape(count, channels, -1).transpose(1, 2)).sum(dim=0)  # (kh kw, C)
    total = total.flip(0).T.flatten()  # (C kh kw,)
    if bias:
        total = torch.cat((total, roots.sum().reshape(1)))
    return total / math.sqrt(count * out[0] * out[1])


def _weights_per_tap(
    roots: Tensor, size: list[int], kernel: _Pair, stride: _Pair, pad: _Pair, dilation: _Pair
) -> Tensor:  # (N, kh kw, HW)
    """For each filter tap (the last first) and pixel, the weight of the position at which the tap hits the pixel."""
    count, out_h, out_w = roots.shape
    spread = roots.new_zeros(count, (out_h - 1) * stride[0] + 1, (out_w - 1) * stride[1] + 1)
    spread[:, :: stride[0], :: stride[1]] = roots
    sides = []
    for axis in (1, 0):  # F.pad takes the last dimension first; negative amounts crop positions that see only padding
        before = dilation[axis] * (kernel[axis] - 1) - pad[axis]
        length = size[axis] + dilation[axis] * (kernel[axis] - 1)
        sides += [before, length - before - spread.shape[1 + axis]]
    canvas = F.pad(spread, sides).unsqueeze(1)  # (N, 1, H + reach, W + reach)
    return F.unfold(canvas, kernel, dilation=dilation)


def _root_maps(weights: Tensor | None, rooted: bool, shape: tuple[int, int, int], features: Tensor) -> Tensor:
    if weights is None:
        return features.new_ones(shape)
    roots = weights.to(device=features.device, dtype=features.dtype)
    if not rooted:
        if roots.device.type == "cpu" and bool((roots < 0).any()):
            raise HyperparameterError("weights (gamma) must not be negative; pass rooted=True if they are sqrt(gamma)")
        roots = roots.sqrt()
    if roots.dim() == 4 and roots.shape[1] == 1:
        roots = roots.squeeze(1)
    if roots.dim() == 1:
        roots = roots[:, None, None]
    if roots.dim() != 3 or roots.shape[0] != shape[0] or roots.shape[1:] not in (shape[1:], (1, 1)):
        raise ShapeError(f"weights must be ({shape[0]},) or {shape}, the output's size, got {tuple(weights.shape)}")
    return roots.expand(shape)


def _pair(value: _Sides) -> _Pair:
    if isinstance(value, int):
        return value, value
    first, second = value
    return int(first), int(second)


def _at_least_float32(values: Tensor) -> Tensor:
    # a sum of many half-precision numbers overflows or loses its small terms
    return values if values.dtype == torch.float64 else values.float()
