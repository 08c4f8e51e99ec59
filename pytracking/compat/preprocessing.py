"""Crops patches from images given as tensors (1, 3, h, w) in 0..255."""
from collections.abc import Callable, Iterable, Sequence

import numpy as np
import torch
from torch import Tensor

from pytracking.features.crop import BorderMode, sample_rectangle


def numpy_to_torch(a: np.ndarray) -> Tensor:
    """Converts an image (h, w, 3) to a float tensor (1, 3, h, w)."""
    return torch.from_numpy(a).float().permute(2, 0, 1)[None]


def torch_to_numpy(a: Tensor) -> np.ndarray:
    """Converts a tensor (1, 3, h, w) to an image (h, w, 3)."""
    return a[0].permute(1, 2, 0).numpy()


def sample_patch(
    im: Tensor,
    pos: Tensor,
    sample_sz: Tensor,
    output_sz: Tensor | None = None,
    mode: BorderMode = "replicate",
    max_scale_change: float | None = None,
    is_mask: bool = False,
) -> tuple[Tensor, Tensor]:
    """Crops ``sample_sz`` pixels around ``pos`` (y, x) and resizes them to ``output_sz``.

    Returns:
        The patch (1, 3, h, w) and its corners top, left, bottom, right in the image (1, 4).
    """
    if is_mask:
        raise NotImplementedError("is_mask: masks cannot be cropped; this project's trackers use boxes")
    patch, crop = sample_rectangle(
        torch_to_numpy(im),
        pos.float().numpy(),
        sample_sz.float().numpy(),
        None if output_sz is None else output_sz.long().numpy(),
        border=mode,
        max_scale_change=max_scale_change,
    )
    return patch.contiguous(), torch.from_numpy(crop.corners).float()[None]


def sample_patch_multiscale(
    im: Tensor,
    pos: Tensor,
    scales: float | Iterable[float],
    image_sz: Tensor,
    mode: BorderMode = "replicate",
    max_scale_change: float | None = None,
) -> tuple[Tensor, Tensor]:
    """Crops patches (n, 3, h, w) of ``image_sz`` at several scales; also returns their corners (n, 4)."""
    scales = [scales] if isinstance(scales, (int, float)) else scales
    pairs = [sample_patch(im, pos, scale * image_sz, image_sz, mode, max_scale_change) for scale in scales]
    return torch.cat([patch for patch, _ in pairs]), torch.cat([corners for _, corners in pairs])


def sample_patch_transformed(
    im: Tensor, pos: Tensor, scale: float, image_sz: Tensor, transforms: Sequence[Callable], is_mask: bool = False
) -> Tensor:
    """Crops a patch and applies each transform to it; returns (n, 3, h, w)."""
    patch, _ = sample_patch(im, pos, scale * image_sz, image_sz, is_mask=is_mask)
    return torch.cat([transform(patch) for transform in transforms])
