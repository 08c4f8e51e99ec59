"""Cuts patches out of frames and computes where they lie.

Published trackers have two conventions for the corners of a crop of ``n`` pixels around a pixel ``c``, which differ by
up to half a pixel per frame:

* ``"new"`` (current pytracking on torch 2): ``c - (n - 1) / 2 .. c + n / 2 + 1`` with true division. Corners may be
  half-integers; pixels are read between the corners truncated toward zero.
* ``"rls"`` (the released RLS-DiMP code): the same with floor division, so corners are whole pixels.

In both, the content of a patch is up to half a pixel away from its corners, and further if it was subsampled; networks
trained on such patches compensate for it. The third convention is for networks trained on exact crops
(``ltr.data.crops``):

* ``"exact"``: corners are whole pixels, and the patch shows exactly the area between them.
"""
from dataclasses import dataclass
from typing import Any, Literal

import cv2
import numpy as np
import torch
from torch.nn import functional as F

Convention = Literal["new", "rls", "exact"]
BorderMode = Literal["replicate", "inside", "inside_major"]

AVERAGED = 0.8  # fraction of a patch pixel averaged before resizing in exact patches; resizing is then by less than 2
CONVENTIONS: tuple[str, ...] = ("new", "rls")  # of published trackers; "exact" is ours
BORDER_MODES: tuple[str, ...] = ("replicate", "inside", "inside_major")


@dataclass(frozen=True, slots=True)
class Crop:
    """The rectangle of the frame that a patch shows; corners are in pixels, ``bottom_right`` is exclusive."""

    top_left: np.ndarray  # (2,) y, x
    bottom_right: np.ndarray  # (2,) y, x

    @property
    def center(self) -> np.ndarray:
        """Position (y, x) of the patch's middle in the frame."""
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
    """Cuts ``scale * output_size`` pixels around ``center`` (y, x); see :func:`sample_rectangle` for the options.

    Returns the patch (1, 3, h, w), float32 in 0..255, in channels-last memory, and its rectangle in the frame.
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
    """:func:`sample_patch` for a rectangle of any shape.

    Args:
        image: (h, w, 3) of any type.
        center: (y, x) in the frame, rounded towards zero; for ``exact``, corners are rounded instead.
        size: (h, w) in frame pixels, float32.
        output_size: (h, w) of the patch, int64; None to skip resizing.
        convention: rounding of the corners, see the module's docstring.
        border: how to handle crops that extend beyond the frame. ``replicate`` repeats the edge; ``inside`` shrinks and
            moves the crop until it fits; ``inside_major`` until one side fits and replicates along the other.
        max_scale_change: maximum factor by which the inside modes shrink the crop; None for no limit.
        device: of the patch; the crop is copied there as bytes before resizing.
        fast: on a CPU, resize with OpenCV: it takes a seventh of torch's time and is more accurate, as torch rounds the
            coordinates to single precision. Pixels (0..255) differ by less than 0.01.
    """
    if convention not in (*CONVENTIONS, "exact") or border not in BORDER_MODES:
        known = f"convention must be one of {(*CONVENTIONS, 'exact')}, border one of {BORDER_MODES}"
        raise ValueError(f"{known}; got {convention!r}, {border!r}")
    if border != "replicate":
        size = _shrink_to_fit(size, image.shape[:2], border, max_scale_change)
    zoom = 1.0 if output_size is None else float(np.min(size / output_size))
    if convention == "exact":
        pixels, crop = _read_exactly(image, center, size, zoom, border)
    else:
        pixels, crop = _read_as_published(image, center, size, zoom, convention, border)
    patch = _resize(pixels, np.array(pixels.shape[:2]) if output_size is None else output_size, device, fast)
    return patch, crop


def _read_as_published(
    image: np.ndarray, center: np.ndarray, size: np.ndarray, zoom: float, convention: Convention, border: BorderMode
) -> tuple[np.ndarray, Crop]:
    # Subsample large crops before resizing, which interpolates between 2x2 pixels only.
    step = max(int(zoom - 0.1), 1)
    pixel = np.trunc(center).astype(np.int64)
    phase = pixel % step
    pixel = (pixel - phase) // step  # position in the subsampled image
    grid = -((phase - image.shape[:2]) // step)  # (h, w) of the subsampled image
    top_left, bottom_right = _corners(pixel, np.maximum(np.round(size / step), 2), convention)
    if border != "replicate":
        top_left, bottom_right = _move_inside(top_left, bottom_right, grid)
    return _read(image, top_left, bottom_right, phase, step, grid), Crop(step * top_left, step * bottom_right)


def _read_exactly(
    image: np.ndarray, center: np.ndarray, size: np.ndarray, zoom: float, border: BorderMode
) -> tuple[np.ndarray, Crop]:
    # Average areas of large crops before resizing, which interpolates between 2x2 pixels only.
    area = max(round(AVERAGED * zoom), 1)
    cells = np.maximum(np.round(size / area), 2)
    top_left = np.round(np.asarray(center, float) + 0.5 - cells * area / 2)  # pixel centres are at whole numbers
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
    # Single precision on purpose, here and in `size`: a crop that just fits is then rounded down as in pytracking.
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
    # A crop that is still larger than the image overhangs it by the same whole number of pixels on both sides.
    overhang = (np.maximum(-top_left, 0) + np.maximum(bottom_right - image_size, 0)) // 2
    shift = np.where(overhang > 0, -top_left - overhang, 0)
    return top_left + shift, bottom_right + shift


def _read(
    image: np.ndarray, top_left: np.ndarray, bottom_right: np.ndarray, phase: np.ndarray, step: int, grid: np.ndarray
) -> np.ndarray:
    """The crop's pixels (h, w, 3), with the edge replicated beyond the image."""
    slices, margins = [], []
    for axis in (0, 1):
        first, last, count = int(top_left[axis]), int(bottom_right[axis]), int(grid[axis])
        start = min(max(first, 0), count - 1)  # a crop outside the image shows the nearest row or column
        stop = max(min(last, count), start + 1)
        before = min(max(start - first, 0), last - first - 1)
        margins += [before, last - first - before - (stop - start)]
        slices.append(slice(phase[axis] + step * start, phase[axis] + step * (stop - 1) + 1, step))
    pixels = np.ascontiguousarray(image[slices[0], slices[1]])
    return cv2.copyMakeBorder(pixels, *margins, cv2.BORDER_REPLICATE) if any(margins) else pixels


def _resize(pixels: np.ndarray, output_size: np.ndarray, device: torch.device | str, fast: bool) -> torch.Tensor:
    """Resizes pixels (h, w, 3) to a patch (1, 3, h, w), channels last."""
    height, width = (int(side) for side in output_size)
    if fast and torch.device(device).type == "cpu":
        resized = cv2.resize(pixels.astype(np.float32), (width, height), interpolation=cv2.INTER_LINEAR)
        return torch.from_numpy(resized).permute(2, 0, 1).unsqueeze(0)
    patch = torch.from_numpy(pixels).to(device).permute(2, 0, 1).unsqueeze(0).float()
    if tuple(patch.shape[2:]) == (height, width):
        return patch
    return F.interpolate(patch, size=(height, width), mode="bilinear", align_corners=False)
