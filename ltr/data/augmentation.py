"""Random augmentation of a training example's images."""
from dataclasses import dataclass

import cv2
import numpy as np


@dataclass(frozen=True, slots=True, kw_only=True)
class Augmentation:
    """Probabilities and strengths. Flip and grey are drawn once per example, everything else once per frame."""

    flip: float = 0.5  # probability of mirroring the whole example
    grey: float = 0.05  # probability of converting it to grey
    brightness: float = 0.2  # half range of the per-frame brightness factor around 1
    blur: float = 0.0  # probability of a Gaussian blur
    colour: float = 0.0  # half range of the factor on each colour channel around 1
    contrast: float = 0.0  # half range of the contrast around 1
    motion: float = 0.0  # probability of a motion blur
    coarse: float = 0.0  # probability of a lower resolution, as in crops of small targets
    cover: float = 0.0  # probability of an occluder over part of the target

    def apply(
        self, crop: np.ndarray, box: np.ndarray, mode: tuple[bool, bool], rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Augments one crop (side, side, 3) uint8 and its box [x, y, w, h]; ``mode``: mirror it, convert it to grey."""
        mirrored, grey = mode
        if mirrored:
            crop = np.ascontiguousarray(crop[:, ::-1])
            box = np.array([crop.shape[1] - box[0] - box[2], *box[1:]])
        if grey:
            crop = cv2.cvtColor(cv2.cvtColor(crop, cv2.COLOR_RGB2GRAY), cv2.COLOR_GRAY2RGB)
        factor = rng.uniform(1 - self.brightness, 1 + self.brightness)
        if self.cover and rng.random() < self.cover:
            crop = covered(crop, box, rng)
        if self.colour or self.contrast:
            crop = self._recoloured(crop, factor, rng)
        else:
            crop = cv2.convertScaleAbs(crop, alpha=factor)
        if rng.random() < self.blur:
            crop = cv2.GaussianBlur(crop, (0, 0), rng.uniform(0.5, 2.0))
        if self.motion and rng.random() < self.motion:
            crop = cv2.filter2D(crop, -1, line_kernel(rng.integers(3, 12), rng.uniform(0, np.pi)))
        if self.coarse and rng.random() < self.coarse:
            side = int(crop.shape[0] / rng.uniform(1.3, 3.0))
            small = cv2.resize(crop, (side, side), interpolation=cv2.INTER_AREA)
            crop = cv2.resize(small, crop.shape[1::-1], interpolation=cv2.INTER_LINEAR)
        return crop, box

    def _recoloured(self, crop: np.ndarray, factor: float, rng: np.random.Generator) -> np.ndarray:
        contrast = rng.uniform(1 - self.contrast, 1 + self.contrast)
        gains = factor * contrast * rng.uniform(1 - self.colour, 1 + self.colour, 3)
        middle = factor * (1 - contrast) * float(crop.mean())
        table = np.clip(np.arange(256)[:, None] * gains + middle, 0, 255).astype(np.uint8)
        return cv2.LUT(crop, table[None])


def covered(crop: np.ndarray, box: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Covers up to half of the box with a piece of the crop itself."""
    side = crop.shape[0]
    low = np.clip(box[:2], 0, side - 4).astype(int)
    high = np.clip(box[:2] + box[2:], low + 4, side).astype(int)
    axis = int(rng.integers(2))
    extent = high - low
    extent[axis] = max(int(extent[axis] * rng.uniform(0.15, 0.5)), 1)
    if rng.random() < 0.5:  # cover the far end instead of the near one
        low[axis] = high[axis] - extent[axis]
    source = (rng.random(2) * (side - extent)).astype(int)
    result = crop.copy()
    piece = crop[source[1] : source[1] + extent[1], source[0] : source[0] + extent[0]]
    result[low[1] : low[1] + extent[1], low[0] : low[0] + extent[0]] = piece
    return result


def line_kernel(length: int, angle: float) -> np.ndarray:
    """Kernel of a motion blur over `length` pixels; sums to 1."""
    side = int(length) | 1
    kernel = np.zeros((side, side), np.float32)
    reach = np.array([np.cos(angle), np.sin(angle)]) * side / 2
    middle = np.array([side // 2, side // 2])
    first, last = (tuple(int(round(v)) for v in middle + sign * reach) for sign in (-1, 1))
    cv2.line(kernel, first, last, 1.0)
    return kernel / kernel.sum()
