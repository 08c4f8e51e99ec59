"""Random changes of a training example's images."""
from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np


@dataclass(frozen=True, slots=True, kw_only=True)
class Augmentation:
    """Probabilities and strengths. Flip and grey are drawn once per example, brightness and blur once per frame."""

    flip: float = 0.5  # probability of mirroring the whole example
    grey: float = 0.05  # probability of removing its colours
    brightness: float = 0.2  # half range of the per-frame brightness factor around 1
    blur: float = 0.0  # probability of a Gaussian blur of a frame

    def example_mode(self, rng: np.random.Generator) -> tuple[bool, bool]:
        """Whether to mirror and whether to remove colours."""
        return bool(rng.random() < self.flip), bool(rng.random() < self.grey)

    def apply(
        self, crop: np.ndarray, box: np.ndarray, mode: tuple[bool, bool], rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Changes one crop (side, side, 3) uint8 and its box [x, y, w, h]."""
        mirrored, grey = mode
        if mirrored:
            crop = np.ascontiguousarray(crop[:, ::-1])
            box = np.array([crop.shape[1] - box[0] - box[2], *box[1:]])
        if grey:
            crop = cv2.cvtColor(cv2.cvtColor(crop, cv2.COLOR_RGB2GRAY), cv2.COLOR_GRAY2RGB)
        factor = rng.uniform(1 - self.brightness, 1 + self.brightness)
        crop = cv2.convertScaleAbs(crop, alpha=factor)
        if rng.random() < self.blur:
            crop = cv2.GaussianBlur(crop, (0, 0), rng.uniform(0.5, 2.0))
        return crop, box
