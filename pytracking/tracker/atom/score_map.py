"""ATOM's score map: the scores interpolated to the resolution of the patch."""
import math
from functools import lru_cache

import torch
from torch import Tensor


@lru_cache(maxsize=8)
def interpolation_matrix(cells: int, pixels: int, kernel: int) -> Tensor:
    """Trigonometric interpolation of ``cells`` periodic values at ``pixels`` positions, (pixels, cells), float64.

    Uses frequencies up to cells / 2. As published, the highest one counts with both signs for an even number of cells,
    so the interpolation does not pass through the values exactly. Pixel i lies at cell ``i cells / pixels``, or half a
    cell before that if ``kernel`` is odd.
    """
    positions = torch.arange(pixels, dtype=torch.float64) * cells / pixels - 0.5 * (kernel % 2)
    angle = 2 * math.pi / cells * (positions[:, None] - torch.arange(cells, dtype=torch.float64))
    waves = torch.arange(1, cells // 2 + 1, dtype=torch.float64)
    return (1 + 2 * torch.cos(angle[..., None] * waves).sum(-1)) / cells


def interpolate(scores: Tensor, size: tuple[int, int], kernel: int) -> Tensor:
    """Interpolates scores (H, W) of a filter of side ``kernel`` to (h, w); the patch's middle is at ``size // 2``."""
    rows, columns = (
        interpolation_matrix(cells, pixels, kernel).to(scores)
        for cells, pixels in zip(scores.shape, size, strict=True)
    )
    return rows @ scores @ columns.T
