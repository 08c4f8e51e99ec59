"""Fourier series of score maps: coefficients (..., h, w // 2 + 1, 2) with the rows' zero frequency in the middle."""
import math
from collections.abc import Sequence

import torch
from torch import Tensor

from pytracking.compat.tensorlist import TensorList, tensor_operation


@tensor_operation
def cfft2(a: Tensor) -> Tensor:
    """Transforms real maps (..., h, w) into Fourier series."""
    return torch.view_as_real(torch.fft.fftshift(torch.fft.rfft2(a), -2))


@tensor_operation
def cifft2(a: Tensor, signal_sizes: Sequence[int] | None = None) -> Tensor:
    """Transforms Fourier series back into maps."""
    spectrum = torch.fft.ifftshift(torch.view_as_complex(a.contiguous()), -2)
    return torch.fft.irfft2(spectrum, s=None if signal_sizes is None else tuple(int(side) for side in signal_sizes))


@tensor_operation
def sample_fs(a: Tensor, grid_sz: Tensor | None = None, rescale: bool = True) -> Tensor:
    """Samples a series on a grid of ``grid_sz``; by default one sample per frequency."""
    rows, columns = a.shape[-3], 2 * a.shape[-2] - 1
    height, width = (rows, columns) if grid_sz is None else (int(side) for side in grid_sz)
    factor = height * width if rescale else 1.0
    if height < rows or width < columns:
        raise ValueError(f"a grid of {height}x{width} is too coarse for a series of {rows}x{columns} frequencies")
    spectrum = torch.view_as_complex(a.contiguous())
    padded = spectrum.new_zeros(*spectrum.shape[:-2], height, width // 2 + 1)
    top = height // 2 - rows // 2  # aligns the zero frequencies
    padded[..., top : top + rows, : spectrum.shape[-1]] = spectrum
    return factor * torch.fft.irfft2(torch.fft.ifftshift(padded, -2), s=(height, width))


@tensor_operation
def shift_fs(a: Tensor, shift: Tensor) -> Tensor:
    """Shifts a series by ``shift`` (y, x), where a whole period is 2 pi."""
    rows, columns = a.shape[-3], a.shape[-2]
    first = torch.arange(rows, device=a.device) - rows // 2
    second = torch.arange(columns, device=a.device)
    angle = first[:, None] * float(shift[0]) + second * float(shift[1])
    shifted = torch.view_as_complex(a.contiguous()) * torch.polar(torch.ones_like(angle), angle)
    return torch.view_as_real(shifted)


def sum_fs(a: TensorList) -> Tensor:
    """Sums series of different lengths; the missing frequencies of shorter ones are 0."""
    longest = max(a, key=lambda series: math.prod(series.shape[-3:-1]))
    total = longest.clone()
    for series in (one for one in a if one is not longest):
        top = (total.shape[-3] - series.shape[-3]) // 2
        total[..., top : top + series.shape[-3], : series.shape[-2], :] += series
    return total
