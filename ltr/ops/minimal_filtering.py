"""Convolutions with fewer multiplications: Winograd's minimal filtering, for inference on a CPU.

A correlation of m outputs with r weights is a product of polynomials, read backwards. Evaluating at m + r - 1 points
instead of multiplying all pairs leaves m + r - 1 products where the definition has m r; in two dimensions 36 instead of
144 for 4 x 4 outputs of a 3 x 3 kernel, and 36 instead of 100 for 2 x 2 outputs of a 5 x 5 kernel. The result differs
from the direct one by a few units of float32's last place of the largest term.
"""
from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

POINTS = (0.0, 1.0, -1.0, 0.5, -2.0)  # and infinity; few bits in their powers' inverses keep rounding small
OUTPUTS = {3: 4, 5: 2}  # outputs of a tile by the kernel's side; both have tiles of six inputs per side
SMALLEST_MAP = 8  # cells per side of the output, below which the tiles' margins cost more than they save


def can_replace(conv: nn.Module) -> bool:
    """Whether :class:`MinimalFiltering` computes what this layer does."""
    return (
        isinstance(conv, nn.Conv2d)
        and conv.kernel_size in [(side, side) for side in OUTPUTS]
        and conv.stride == (1, 1)
        and conv.padding == (0, 0)
        and conv.groups == 1
        and conv.dilation[0] == conv.dilation[1]
    )


class MinimalFiltering:
    """The same map as a convolution of stride 1 without padding; dilated kernels work on interleaved grids.

    The weights are transformed once, so later changes of the layer's weights are not seen.

    Args:
        products_at_once: numbers in a strip of tiles; by default 8 MiB, what the cache holds during the transform.
    """

    def __init__(self, conv: nn.Conv2d, products_at_once: int = 2**21) -> None:
        self.products_at_once = products_at_once
        self.kernel, self.dilation = conv.kernel_size[0], conv.dilation[0]
        self.outputs = OUTPUTS[self.kernel]
        self.tile = self.outputs + self.kernel - 1
        weight = conv.weight.detach()
        to_outputs, to_weights, to_inputs = transforms(self.outputs, self.kernel)
        kernels = weight.double().cpu().flatten(2)  # (O, C, k * k)
        transformed = kernels @ torch.kron(to_weights, to_weights).T  # (O, C, t * t)
        self.weights = transformed.permute(2, 1, 0).to(weight).contiguous()  # (t * t, C, O)
        self.to_inputs = torch.kron(to_inputs, to_inputs).to(weight)  # (t * t, t * t)
        self.to_outputs = torch.kron(to_outputs, to_outputs).to(weight)  # (m * m, t * t)
        self.bias = None if conv.bias is None else conv.bias.detach()

    @torch.no_grad()
    def __call__(self, images: Tensor) -> Tensor:
        """Maps (B, C, H, W) to (B, O, H', W'), in channels-last memory."""
        d, m = self.dilation, self.outputs
        wanted = [side - d * (self.kernel - 1) for side in images.shape[2:]]
        rows, columns = (-(-side // (d * m)) for side in wanted)  # tiles of each grid
        cells = self._padded(images, rows, columns)  # (B, H, W, C)
        maps = cells.new_empty((len(cells), rows, m, d, columns, m, d, self.weights.shape[2]))
        strip = max(self.products_at_once // (self.tile**2 * columns * d * d * self.weights.shape[2]), 1)
        for image, target in zip(cells, maps, strict=True):
            for first in range(0, rows, strip):
                part = target[first : first + strip]
                part.copy_(self._strip(image[d * m * first :], len(part), columns).permute(4, 0, 2, 5, 1, 3, 6))
        maps = maps.view(len(cells), rows * m * d, columns * m * d, -1)[:, : wanted[0], : wanted[1]]
        if self.bias is not None:
            maps = maps + self.bias
        return maps.permute(0, 3, 1, 2)

    def pays_for(self, images: Tensor) -> bool:
        """Whether the maps are large enough for tiles to fit in."""
        return min(images.shape[2:]) - self.dilation * (self.kernel - 1) >= SMALLEST_MAP * self.dilation

    def _padded(self, images: Tensor, rows: int, columns: int) -> Tensor:
        need = [self.dilation * (count * self.outputs + self.kernel - 1) for count in (rows, columns)]
        cells = images.permute(0, 2, 3, 1)
        return functional.pad(cells, (0, 0, 0, need[1] - cells.shape[2], 0, need[0] - cells.shape[1])).contiguous()

    def _strip(self, cells: Tensor, rows: int, columns: int) -> Tensor:
        """Some rows of tiles of an image (H, W, C): outputs (m, m, d, d, rows, columns, O), both within tiles first."""
        d, m, t = self.dilation, self.outputs, self.tile
        channels = cells.shape[2]
        line = cells.shape[1] * channels
        tiles = cells.as_strided(
            (t, t, d, d, rows, columns, channels),
            (d * line, d * channels, line, channels, d * m * line, d * m * channels, 1),
            cells.storage_offset(),
        )
        spread = torch.mm(self.to_inputs, tiles.reshape(t * t, -1)).view(t * t, -1, channels)
        products = torch.bmm(spread, self.weights)  # (t * t, tiles, O)
        maps = torch.mm(self.to_outputs, products.view(t * t, -1))  # (m * m, tiles * O)
        return maps.view(m, m, d, d, rows, columns, -1)


def transforms(outputs: int, kernel: int) -> tuple[Tensor, Tensor, Tensor]:
    """Matrices A, G, B with y = A [(G g) * (B d)], float64, for y_i = sum_j g_j d_(i+j).

    With E_n the values of the monomials up to degree n - 1 at the points, polynomials are multiplied by
    E_(m+r-1)^-1 [(E_m a) * (E_r g)]; the correlation is the transpose of this map from a to the product.

    Returns:
        A (outputs, points), G (points, kernel), B (points, points).
    """
    size = outputs + kernel - 1
    return _values(outputs, size).T.clone(), _values(kernel, size), torch.linalg.inv(_values(size, size)).T.contiguous()


def _values(terms: int, points: int) -> Tensor:
    finite = torch.tensor(POINTS[: points - 1], dtype=torch.float64)
    values = torch.zeros(points, terms, dtype=torch.float64)
    values[:-1] = finite[:, None] ** torch.arange(terms)
    values[-1, -1] = 1.0  # at infinity the highest term is all there is
    return values


class FastConvolutions:
    """A chain of convolution blocks (convolution first), on the CPU by minimal filtering where possible."""

    def __init__(self, blocks: list[nn.Sequential]) -> None:
        self.blocks = blocks
        self.fast = [
            MinimalFiltering(block[0]) if can_replace(block[0]) and block[0].weight.device.type == "cpu" else None
            for block in blocks
        ]

    @torch.no_grad()
    def __call__(self, images: Tensor) -> Tensor:
        """Feature maps (B, C', h, w) of images (B, C, H, W)."""
        maps = images if images.device.type == "mps" else images.contiguous(memory_format=torch.channels_last)
        for block, fast in zip(self.blocks, self.fast, strict=True):
            maps = block(maps) if fast is None or not fast.pays_for(maps) else block[1:](fast(maps))
        return maps
