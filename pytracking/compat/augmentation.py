"""pytracking's augmentation classes."""
from collections.abc import Sequence

from torch import Tensor

from pytracking.features import augmentation as ours

Size = Sequence[int] | None


class Transform:
    """Applies an image operation, then crops ``output_sz`` (h, w) around the centre moved by ``shift`` (y, x)."""

    def __init__(self, output_sz: Size = None, shift: Size = None) -> None:
        self.output_sz = output_sz
        self.shift = tuple(shift) if shift is not None else (0, 0)

    def warp(self, image: Tensor) -> Tensor:
        """The image operation."""
        return image

    def __call__(self, image: Tensor, is_mask: bool = False) -> Tensor:
        size = tuple(image.shape[2:]) if self.output_sz is None else tuple(int(side) for side in self.output_sz)
        return ours.Augmentation(self.warp, self.shift)(image, size)


class Identity(Transform):
    """Only crops."""


class FlipHorizontal(Transform):
    """Mirrors the image left to right."""

    warp = staticmethod(ours.flip_horizontal)


class FlipVertical(Transform):
    """Mirrors the image top to bottom."""

    warp = staticmethod(ours.flip_vertical)


class Translation(Transform):
    """Moves the image by ``translation`` (y, x)."""

    def __init__(self, translation: Sequence[int], output_sz: Size = None, shift: Size = None) -> None:
        super().__init__(output_sz, shift)
        self.shift = (int(self.shift[0] + translation[0]), int(self.shift[1] + translation[1]))


class Scale(Transform):
    """Shrinks the image by ``scale_factor``."""

    def __init__(self, scale_factor: float, output_sz: Size = None, shift: Size = None) -> None:
        super().__init__(output_sz, shift)
        self.scale_factor, self.warp = scale_factor, ours.rescale(scale_factor)


class Rotate(Transform):
    """Rotates the image counterclockwise by ``angle`` degrees."""

    def __init__(self, angle: float, output_sz: Size = None, shift: Size = None) -> None:
        super().__init__(output_sz, shift)
        self.angle, self.warp = angle, ours.rotate(angle)


class Blur(Transform):
    """Blurs the image by ``sigma`` pixels; a number or (y, x)."""

    def __init__(self, sigma: float | Sequence[float], output_sz: Size = None, shift: Size = None) -> None:
        super().__init__(output_sz, shift)
        self.sigma = (sigma, sigma) if isinstance(sigma, (int, float)) else tuple(sigma)
        self.warp = ours.blur(self.sigma)
