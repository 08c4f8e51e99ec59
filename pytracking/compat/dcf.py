"""Labels, windows and maxima of score maps."""
from collections.abc import Sequence

import torch
from torch import Tensor

from pytracking.compat.tensorlist import tensor_operation
from pytracking.features import windows


@tensor_operation
def max2d(a: Tensor) -> tuple[Tensor, Tensor]:
    """Returns the largest value of each map (..., h, w), and its row and column (..., 2)."""
    values, indices = a.flatten(-2).max(-1)
    return values, torch.stack([indices // a.shape[-1], indices % a.shape[-1]], -1)


def hann1d(sz: int, centered: bool = True) -> Tensor:
    """A cosine window."""
    return windows.hann1d(int(sz)) if centered else windows.hann1d_origin(int(sz))


def hann2d(sz: Sequence[int] | Tensor, centered: bool = True) -> Tensor:
    """A 2D cosine window (1, 1, h, w)."""
    return windows.hann2d(_size(sz), centered=centered)


def hann2d_clipped(sz: Sequence[int] | Tensor, effective_sz: Sequence[int] | Tensor, centered: bool = True) -> Tensor:
    """A cosine window (1, 1, h, w) of ``effective_sz`` in the centre, its border values repeated outwards."""
    window = windows.hann2d_clipped(_size(sz), _size(effective_sz))
    return window if centered else torch.fft.ifftshift(window, (-2, -1))


def gauss_spatial(sz: int, sigma: float, center: float = 0.0, end_pad: int = 0) -> Tensor:
    """A Gaussian (sz + end_pad,) around the middle of ``sz`` cells, moved by ``center``."""
    cells = torch.arange(int(sz) + int(end_pad)) - (int(sz) - 1) / 2
    return torch.exp(-((cells - center) ** 2) / (2 * sigma**2))


def label_function_spatial(
    feat_sz: Tensor, sigma: Tensor, center: Tensor | None = None, end_pad: Tensor | None = None
) -> Tensor:
    """A 2D Gaussian (1, 1, h, w) on a map of ``feat_sz`` cells."""
    centers = [0.0, 0.0] if center is None else [float(value) for value in center]
    pads = [0, 0] if end_pad is None else [int(value) for value in end_pad]
    rows, columns = (
        gauss_spatial(int(feat_sz[axis]), float(sigma[axis]), centers[axis], pads[axis]) for axis in (0, 1)
    )
    return torch.outer(rows, columns)[None, None]


def _size(sz: Sequence[int] | Tensor) -> tuple[int, int]:
    height, width = (int(side) for side in sz)
    return height, width
