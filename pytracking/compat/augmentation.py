"""Augmentations as classes."""
from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from pytracking.features import augmentation as ours

Size = Sequence[int] | None


class Transform:
    """A picture operation, then a crop of ``output_sz`` (h, w) from its middle, moved by ``shift`` (y, x)."""

    def __init__(self, output_sz: Size = None, shift: Size = None) -> None:
        self.output_sz = output_sz
        self.shift = tuple(shift) if shift is not None else (0, 0)

    def warp(self, image: Tensor) -> Tensor:
        """The picture operation."""
        return image

    def __call__(self, image: Tensor, is_mask: bool = False) -> Tensor:
        size = tuple(image.shape[2:]) if self.output_sz is None else tuple(int(side) for side in self.output_sz)
        return ours.Augmentation(self.warp, self.shift)(image, size)


class Identity(Transform):
    """Nothing but the crop."""


class FlipHorizontal(Transform):
    """Left and right change places."""

    warp = staticmethod(ours.flip_horizontal)


class FlipVertical(Transform):
    """Top and bottom change places."""

    warp = staticmethod(ours.flip_vertical)


class Translation(Transform):
    """Moves the picture by ``translation`` (y, x)."""

    def __init__(self, translation: Sequence[int], output_sz: Size = None, shift: Size = None) -> None:
        super().__init__(output_sz, shift)
        self.shift = (int(self.shift[0] + translation[0]), int(self.shift[1] + translation[1]))


class Scale(Transform):
    """Shrinks the picture by ``scale_factor``."""

    def __init__(self, scale_factor: float, output_sz: Size = None, shift: Size = None) -> None:
        super().__init__(output_sz, shift)
        self.scale_factor, self.warp = scale_factor, ours.rescale(scale_factor)


class Rotate(Transform):
    """Rotates the picture counterclockwise by ``angle`` degrees."""

    def __init__(self, angle: float, output_sz: Size = None, shift: Size = None) -> None:
        super().__init__(output_sz, shift)
        self.angle, self.warp = angle, ours.rotate(angle)


class Blur(Transform):
    """Blurs the picture by ``sigma`` pixels, or (y, x)."""

    def __init__(self, sigma: float | Sequence[float], output_sz: Size = None, shift: Size = None) -> None:
        super().__init__(output_sz, shift)
        self.sigma = (sigma, sigma) if isinstance(sigma, (int, float)) else tuple(sigma)
        self.warp = ours.blur(self.sigma)
