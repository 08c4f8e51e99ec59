"""Cutting a patch out of a frame, with its exact position.

Two conventions exist for the corners of a crop of ``n`` pixels around a pixel ``c``, and trackers built on them differ
by up to half a pixel per frame:

* ``"new"`` (current pytracking on torch 2): ``c - (n - 1) / 2 .. c + n / 2 + 1`` with true division. The corners carry
  halves; the pixels that are read start and end at the corners truncated toward zero.
* ``"rls"`` (the released RLS-DiMP code): the same with floored division, so the corners are whole pixels.

In both, what a patch shows lies up to half a pixel from where the corners say, and more where it is thinned out; what
networks learn from such patches makes up for it. The third is for those trained on exact crops (``ltr.data.crops``):

* ``"exact"``: corners are whole pixels, and the patch shows just what lies between them.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import cv2
import numpy as np
import torch
from torch.nn import functional as F

Convention = Literal["new", "rls", "exact"]
BorderMode = Literal["replicate", "inside", "inside_major"]

AVERAGED = 0.8  # of a patch pixel is averaged first in exact patches; what is resized is then less than twice as fine
CONVENTIONS: tuple[str, ...] = ("new", "rls")  # of published trackers; "exact" is ours
BORDER_MODES: tuple[str, ...] = ("replicate", "inside", "inside_major")


@dataclass(frozen=True, slots=True)
class Crop:
    """The rectangle of the frame that a patch shows: corners in pixels, the far corner exclusive."""

    top_left: np.ndarray  # (2,) y, x
    bottom_right: np.ndarray  # (2,) y, x

    @property
    def center(self) -> np.ndarray:
        """The pixel position (y, x) in the frame of the patch's middle."""
        return 0.5 * (self.top_left + self.bottom_right - 1)

    def scale(self, output_size: np.ndarray) -> float:
        """Frame pixels per patch pixel for a patch of ``output_size`` (h, w)."""
        return float(np.sqrt(np.prod((self.bottom_right - self.top_left) / output_size)))

    @property
    def corners(self) -> np.ndarray:
        """``[top, left, bottom, right]``."""
        return np.concatenate([self.top_left, self.bottom_right])


def sample_patch(
    image: np.ndarray, center: np.ndarray, scale: float, output_size: np.ndarray, **options: Any
) -> tuple[torch.Tensor, Crop]:
    """Cuts ``scale * output_size`` pixels around ``center`` (y, x); options are those of :func:`sample_rectangle`.

    Returns the patch (1, 3, h, w), float32 in 0..255, in channels-last memory; and where it lies in the frame.
    """
    if image.ndim != 3 or image.shape[2] != 3 or image.dtype != np.uint8:
        raise ValueError(f"image must be an RGB uint8 array (h, w, 3), got {image.dtype} {image.shape}")
    output_size = np.asarray(output_size, dtype=np.int64)
    return sample_rectangle(image, center, np.float32(scale) * output_size.astype(np.float32), output_size, **options)


def sample_rectangle(
    image: np.ndarray,
    center: np.ndarray,
    size: np.ndarray,
    output_size: np.ndarray | None,
    *,
    convention: Convention = "new",
    border: BorderMode = "replicate",
    max_scale_change: float | None = None,
    device: torch.device | str = "cpu",
    fast: bool = False,
) -> tuple[torch.Tensor, Crop]:
    """:func:`sample_patch` of a rectangle of any shape.

    Args:
        image: (h, w, 3) of any type.
        center: (y, x) in the frame; its fraction is dropped; ``exact`` takes the nearest corner.
        size: (h, w) in frame pixels, float32.
        output_size: (h, w) of the patch, int64; None leaves the pixels as they are.
        convention: how the corners are rounded, see the module's text.
        border: what to do where the crop leaves the frame. ``replicate`` repeats the edge; ``inside`` shrinks and moves
            the crop until it fits; ``inside_major`` until its longer relative side fits, the rest being replicated.
        max_scale_change: the inside modes shrink the crop at most by this factor; None for no limit.
        device: where the patch is wanted; the crop travels there as bytes, before it is resized.
        fast: resize with OpenCV where the device is a CPU: a seventh of torch's time, and closer to the exact numbers,
            since torch rounds the coordinates to single precision; the pixels (0..255) differ by less than 0.01.
    """
    if convention not in (*CONVENTIONS, "exact") or border not in BORDER_MODES:
        known = f"convention is one of {(*CONVENTIONS, 'exact')}, border one of {BORDER_MODES}"
        raise ValueError(f"{known}; got {convention!r}, {border!r}")
    if border != "replicate":
        size = _shrink_to_fit(size, image.shape[:2], border, max_scale_change)
    zoom = 1.0 if output_size is None else float(np.min(size / output_size))
    read = _read_exactly if convention == "exact" else _read_as_published
    pixels, crop = read(image, center, size, zoom, convention, border)
    patch = _resize(pixels, np.array(pixels.shape[:2]) if output_size is None else output_size, device, fast)
    return patch, crop


def _read_as_published(
    image: np.ndarray, center: np.ndarray, size: np.ndarray, zoom: float, convention: Convention, border: BorderMode
) -> tuple[np.ndarray, Crop]:
    # Large crops are subsampled before they are resized, so that resizing never reads more than 2x2 input pixels.
    step = max(int(zoom - 0.1), 1)
    pixel = np.trunc(center).astype(np.int64)
    phase = pixel % step
    pixel = (pixel - phase) // step  # position in the thinned image
    grid = -((phase - image.shape[:2]) // step)  # (h, w) of the thinned image
    top_left, bottom_right = _corners(pixel, np.maximum(np.round(size / step), 2), convention)
    if border != "replicate":
        top_left, bottom_right = _move_inside(top_left, bottom_right, grid)
    return _read(image, top_left, bottom_right, phase, step, grid), Crop(step * top_left, step * bottom_right)


def _read_exactly(
    image: np.ndarray, center: np.ndarray, size: np.ndarray, zoom: float, _: Convention, border: BorderMode
) -> tuple[np.ndarray, Crop]:
    # Of large crops whole areas are averaged before they are resized.
    area = max(round(AVERAGED * zoom), 1)
    cells = np.maximum(np.round(size / area), 2)
    top_left = np.round(np.asarray(center, float) + 0.5 - cells * area / 2)  # indices count from a pixel's middle
    bottom_right = top_left + cells * area
    if border != "replicate":
        top_left, bottom_right = _move_inside(top_left, bottom_right, np.array(image.shape[:2]))
    pixels = _read(image, top_left, bottom_right, np.zeros(2, int), 1, np.array(image.shape[:2]))
    if area > 1:
        pixels = cv2.resize(pixels, cells[::-1].astype(int).tolist(), interpolation=cv2.INTER_AREA)
    return pixels, Crop(top_left, bottom_right)


def _shrink_to_fit(
    size: np.ndarray, image_size: tuple[int, int], border: BorderMode, max_scale_change: float | None
) -> np.ndarray:
    # Single precision on purpose, here and in `size`: a crop that just fits is rounded down as in the original.
    ratio = size / np.asarray(image_size, dtype=np.float32)
    shrink = ratio.max() if border == "inside" else ratio.min()
    return np.trunc(size / np.clip(shrink, np.float32(1), np.float32(max_scale_change or np.inf)))


def _corners(pixel: np.ndarray, size: np.ndarray, convention: Convention) -> tuple[np.ndarray, np.ndarray]:
    before, after = (size - 1) / 2, size / 2
    if convention == "rls":
        before, after = np.floor(before), np.floor(after)
    return pixel - before, pixel + after + 1


def _move_inside(
    top_left: np.ndarray, bottom_right: np.ndarray, image_size: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    shift = np.maximum(-top_left, 0) - np.maximum(bottom_right - image_size, 0)
    top_left, bottom_right = top_left + shift, bottom_right + shift
    # A crop still larger than the image extends beyond it by the same whole number of pixels on both sides.
    overhang = (np.maximum(-top_left, 0) + np.maximum(bottom_right - image_size, 0)) // 2
    shift = np.where(overhang > 0, -top_left - overhang, 0)
    return top_left + shift, bottom_right + shift


def _read(
    image: np.ndarray, top_left: np.ndarray, bottom_right: np.ndarray, phase: np.ndarray, step: int, grid: np.ndarray
) -> np.ndarray:
    """The crop's pixels (h, w, 3); the edge is repeated wherever the crop leaves the image."""
    parts, margins = [], []
    for axis in (0, 1):
        first, last, count = int(top_left[axis]), int(bottom_right[axis]), int(grid[axis])
        start = min(max(first, 0), count - 1)  # a crop beside the image shows its nearest row or column
        stop = max(min(last, count), start + 1)
        before = min(max(start - first, 0), last - first - 1)
        margins += [before, last - first - before - (stop - start)]
        parts.append(slice(phase[axis] + step * start, phase[axis] + step * (stop - 1) + 1, step))
    pixels = np.ascontiguousarray(image[parts[0], parts[1]])
    return cv2.copyMakeBorder(pixels, *margins, cv2.BORDER_REPLICATE) if any(margins) else pixels


def _resize(pixels: np.ndarray, output_size: np.ndarray, device: torch.device | str, fast: bool) -> torch.Tensor:
    """The patch (1, 3, h, w) of pixels (h, w, 3), channels last."""
    height, width = (int(side) for side in output_size)
    if fast and torch.device(device).type == "cpu":
        resized = cv2.resize(pixels.astype(np.float32), (width, height), interpolation=cv2.INTER_LINEAR)
        return torch.from_numpy(resized).permute(2, 0, 1).unsqueeze(0)
    patch = torch.from_numpy(pixels).to(device).permute(2, 0, 1).unsqueeze(0).float()
    if tuple(patch.shape[2:]) == (height, width):
        return patch
    return F.interpolate(patch, size=(height, width), mode="bilinear", align_corners=False)
