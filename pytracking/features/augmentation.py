"""First-frame augmentation: shifted, flipped, blurred, rescaled and rotated copies of the initial patch.

The patch is cut out with a wide margin. Each augmentation is an image operation on that wide patch followed by a crop
of its middle, shifted by ``shift``. Only the shift moves the target in the result.
"""
import math
from collections.abc import Callable
from dataclasses import dataclass

import cv2
import numpy as np
import torch
from torch.nn import functional as F

from pytracking.utils.upstream import upstream_names

Warp = Callable[[torch.Tensor], torch.Tensor]


@dataclass(frozen=True, slots=True)
class Augmentation:
    """An image operation and the shift (y, x) of the target in the result, in patch pixels."""

    warp: Warp
    shift: tuple[int, int] = (0, 0)

    def __call__(self, wide_patch: torch.Tensor, output_size: tuple[int, int]) -> torch.Tensor:
        """Augments ``wide_patch`` (1, 3, H, W) into a patch (1, 3, *output_size)."""
        return crop_middle(self.warp(wide_patch), output_size, self.shift)


def crop_middle(patch: torch.Tensor, size: tuple[int, int], shift: tuple[int, int] = (0, 0)) -> torch.Tensor:
    """The middle (h, w) of ``patch``, with its content shifted by ``shift`` (y, x); missing pixels repeat the edge."""
    (margin_h, margin_w) = (wanted - has for wanted, has in zip(size, patch.shape[2:], strict=True))
    top, left = margin_h // 2 + shift[0], margin_w // 2 + shift[1]
    return F.pad(patch, (left, margin_w - left, top, margin_h - top), mode="replicate")


def identity(patch: torch.Tensor) -> torch.Tensor:
    return patch


def flip_horizontal(patch: torch.Tensor) -> torch.Tensor:
    return patch.flip(3)


def flip_vertical(patch: torch.Tensor) -> torch.Tensor:
    return patch.flip(2)


def blur(sigma: tuple[float, float]) -> Warp:
    """Gaussian blur with standard deviations (y, x) in pixels, truncated at twice that; zeros beyond the border."""
    kernels = []
    for deviation in sigma:
        radius = math.ceil(2 * deviation)
        offsets = np.arange(-radius, radius + 1, dtype=np.float32)
        kernel = np.exp(-(offsets**2) / np.float32(2 * deviation**2))
        kernels.append(kernel / kernel.sum())
    rows, columns = kernels

    def warp(patch: torch.Tensor) -> torch.Tensor:
        # OpenCV takes a hundredth of the time of torch's convolution, as there are only three channels.
        blurred = cv2.sepFilter2D(_pixels(patch), -1, columns, rows, borderType=cv2.BORDER_CONSTANT)
        return _patch(blurred, patch)

    return warp


def _pixels(patch: torch.Tensor) -> np.ndarray:
    return np.ascontiguousarray(patch[0].permute(1, 2, 0).cpu().numpy())  # (h, w, 3)


def _patch(pixels: np.ndarray, like: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(pixels).permute(2, 0, 1).unsqueeze(0).to(like)


def rescale(factor: float) -> Warp:
    """Shrinks the image by ``factor`` (enlarges it if below 1), keeping the parity of its size."""

    def warp(patch: torch.Tensor) -> torch.Tensor:
        size = [round(n / factor) for n in patch.shape[2:]]
        size = [new + (new - old) % 2 for new, old in zip(size, patch.shape[2:], strict=True)]
        return F.interpolate(patch, size=size, mode="bilinear", align_corners=False)

    return warp


def rotate(degrees: float) -> Warp:
    """Rotates the image counterclockwise about its middle."""

    def warp(patch: torch.Tensor) -> torch.Tensor:
        pixels = _pixels(patch)
        height, width = pixels.shape[:2]
        matrix = cv2.getRotationMatrix2D(((width - 1) / 2, (height - 1) / 2), degrees, 1.0)
        # OpenCV, not grid_sample: the networks' published results are based on its 1/32 pixel interpolation.
        return _patch(cv2.warpAffine(pixels, matrix, (width, height), borderMode=cv2.BORDER_REPLICATE), patch)

    return warp


def dropout_copies(features: torch.Tensor, count: int, probability: float, generator: torch.Generator) -> torch.Tensor:
    """``count`` copies of ``features`` (1, C, H, W), each with different channels dropped and the others scaled up."""
    keep = torch.rand(count, features.shape[1], generator=generator) >= probability
    mask = keep.to(features) / (1 - probability)
    return features * mask[:, :, None, None]


__getattr__ = upstream_names(__name__)
