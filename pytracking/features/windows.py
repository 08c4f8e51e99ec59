"""Cosine windows that favour the middle of a score map."""
import math

import torch

from pytracking.features.crop import Convention


def hann1d(size: int, *, convention: Convention = "new") -> torch.Tensor:
    """A cosine window (size,) without zeros; symmetric, except that ``rls`` has a period one sample too long."""
    period = size + (2 if convention == "rls" else 1)
    return 0.5 * (1 - torch.cos(2 * math.pi / period * torch.arange(1, size + 1)))


def hann1d_origin(size: int) -> torch.Tensor:
    """A cosine window with its peak at index 0 that wraps around, in the sample order of Fourier transforms."""
    index = torch.arange(size)
    return 0.5 * (1 + torch.cos(2 * math.pi / (size + 2) * torch.minimum(index, size - index)))


def hann2d(size: tuple[int, int], *, centered: bool = True, convention: Convention = "new") -> torch.Tensor:
    """Outer product of two cosine windows, (1, 1, h, w); the peak is at [0, 0] unless ``centered``."""
    rows, cols = (hann1d(n, convention=convention) if centered else hann1d_origin(n) for n in size)
    return torch.outer(rows, cols)[None, None]


def hann2d_clipped(size: tuple[int, int], effective_size: tuple[int, int]) -> torch.Tensor:
    """A cosine window of ``effective_size`` in the middle, padded with its edge values, (1, 1, h, w)."""
    rows, cols = (_clipped(n, effective) for n, effective in zip(size, effective_size, strict=True))
    return torch.outer(rows, cols)[None, None]


def _clipped(size: int, effective: int) -> torch.Tensor:
    if effective > size:
        raise ValueError(f"effective_size {effective} is larger than the window {size}")
    effective += (size - effective) % 2  # equal padding on both sides
    margin = (size - effective) // 2
    window = hann1d(effective)
    return torch.cat([window[:1].expand(margin), window, window[-1:].expand(margin)])
