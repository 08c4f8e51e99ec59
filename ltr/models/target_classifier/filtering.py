"""Correlation of many feature maps with a one-channel filter, and its adjoint.

With a single output channel, reading the features dominates the cost. Both functions read them once, in a matrix
product with the filter's k*k taps (or the k*k shifted residuals), and shift the small score maps instead. In a
tracker's sample memory, the channels of a cell are contiguous, which allows one large product for all samples.
"""
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from rls_ext.products import product


def apply_filter(features: Tensor, filters: Tensor) -> Tensor:
    """Scores of N feature maps of each of S sequences (S, N, C, H, W) under their filters (S, C, k, k).

    Returns:
        Scores (S, N, H', W') with H' = H + 1 for even k (zero padding k // 2 on every side), H for odd k.
    """
    sequences, count, _, height, width = features.shape
    kernel = filters.shape[-1]
    size = (score_length(height, kernel), score_length(width, kernel))
    taps = filters.flip((-2, -1)).flatten(2).transpose(1, 2)  # (S, k*k, C)
    cells = _cells(features)
    if cells is None:
        partial = (taps[:, None] @ features.flatten(3)).flatten(0, 1)  # (S * N, k*k, H*W)
    else:
        partial = product(taps[0], cells.T).unflatten(1, (count, -1)).transpose(0, 1)
    scores = functional.fold(partial, size, kernel, padding=kernel - 1 - kernel // 2)
    return scores.reshape(sequences, count, *size)


def correlate_with_residual(features: Tensor, residuals: Tensor, kernel: int) -> Tensor:
    """Adjoint of :func:`apply_filter` with respect to the filters, applied to residual maps (S, N, H', W').

    Returns:
        Sum over the N maps, shaped like the filters (S, C, k, k).
    """
    sequences, count, channels = features.shape[:3]
    shifted, cells = _shifts(residuals, kernel), _cells(features)  # (S, N, k, k, H, W)
    if cells is None:
        shifted = shifted.reshape(sequences, count, kernel * kernel, -1)
        taps = (shifted @ features.flatten(3).transpose(2, 3)).sum(1)  # (S, k*k, C)
    else:
        taps = product(shifted[0].movedim(0, 2).reshape(kernel * kernel, -1), cells)[None]
    return taps.transpose(1, 2).reshape(sequences, channels, kernel, kernel).flip((-2, -1))


def _cells(features: Tensor) -> Tensor | None:
    """The cells of one sequence's maps as rows (N*H*W, C) if the memory layout allows a view; otherwise None."""
    if len(features) > 1 or not features[0].is_contiguous(memory_format=torch.channels_last):
        return None
    return features[0].permute(0, 2, 3, 1).flatten(0, 2)


def _shifts(maps: Tensor, kernel: int) -> Tensor:
    """All k x k shifts of maps (..., H', W') as a view (..., k, k, H, W); torch's unfold takes six times as long."""
    padded = functional.pad(maps, [kernel - 1 - kernel // 2] * 4)
    height, width = (length - kernel + 1 for length in padded.shape[-2:])
    return padded.unfold(-2, height, 1).unfold(-2, width, 1)


def score_length(length: int, kernel: int) -> int:
    """Length of the score map along an axis with ``length`` feature cells."""
    return length + 2 * (kernel // 2) - kernel + 1


def half_cell_offset(patch_size: Any, feature_size: Any, kernel: Any) -> Any:
    """Offset of a search patch in its own pixels: half a cell if the filter's centre falls between cells, otherwise 0.

    Arguments are one side or (h, w) each: the patch in pixels, features and filter in cells.
    """
    return (feature_size + kernel) % 2 * patch_size / (2 * feature_size)
