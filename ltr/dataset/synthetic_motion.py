"""Motion in the synthetic videos: smooth random paths and the pose of a layer in each frame."""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np


def smooth_path(rng: np.random.Generator, frames: int, spread: float, memory: float = 0.9) -> np.ndarray:
    """A random path (frames,), zero at a random frame: the sum of an AR(1) velocity, scaled to deviation `spread`."""
    velocity = np.empty(frames)
    current = rng.normal()
    for t in range(frames):
        current = memory * current + np.sqrt(1 - memory**2) * rng.normal()
        velocity[t] = current
    path = np.cumsum(velocity)
    return (path - path[rng.integers(frames)]) * (spread / (path.std() + 1e-6))


def folded(path: np.ndarray, low: float, high: float) -> np.ndarray:
    """Reflects a path at both ends of an interval to keep it inside."""
    period = 2 * (high - low)
    phase = np.mod(path - low, period)
    return low + np.minimum(phase, period - phase)


@dataclass(slots=True)
class Poses:
    """Position, size and shape of one sprite, one row per frame."""

    centre: np.ndarray  # (frames, 2) pixels in the frame
    size: np.ndarray  # (frames,) pixels: side of the square with the sprite's area
    squeeze: np.ndarray  # (frames,) factor on the width, for turns out of the image plane
    angle: np.ndarray  # (frames,) radians in the image plane
    wave: np.ndarray  # (frames, 2) phases of the two deformation waves
    wave_height: float  # amplitude of the waves as a fraction of the sprite's side

    @classmethod
    def random(cls, rng: np.random.Generator, frames: int, frame_size: tuple[int, int], size: float) -> Poses:
        """Draws a motion; speed, growth and rotation range from almost none to jumps across the frame."""
        speed = rng.choice([0.3, 1.0, 2.5], p=[0.3, 0.45, 0.25]) * size
        memory = rng.choice([0.5, 0.9, 0.97])
        margin = 0.35 * size
        paths = [(rng.uniform(0, side) + smooth_path(rng, frames, speed, memory), side) for side in frame_size]
        centre = np.stack([folded(path, margin, side - margin) for path, side in paths], axis=1)
        growth = np.exp(smooth_path(rng, frames, rng.uniform(0, 0.35), 0.95))
        turning = rng.choice([0.0, 0.1, 0.6], p=[0.3, 0.45, 0.25])
        return cls(
            centre=centre,
            size=np.clip(size * growth, 8.0, 0.8 * min(frame_size)),
            squeeze=np.exp(-np.abs(smooth_path(rng, frames, rng.choice([0.05, 0.3]), 0.95))).clip(0.35, 1.0),
            angle=smooth_path(rng, frames, turning, 0.95),
            wave=np.stack([smooth_path(rng, frames, 2.0, 0.9) for _ in range(2)], axis=1),
            wave_height=rng.choice([0.0, 0.04, 0.09]),
        )

    def matrix(self, t: int, sprite_shape: tuple[int, ...]) -> np.ndarray:
        """The affine map (2, 3) from sprite pixels to frame pixels in frame t."""
        height, width = sprite_shape[:2]
        scale = self.size[t] / np.sqrt(width * height)
        cos, sin = np.cos(self.angle[t]), np.sin(self.angle[t])
        linear = np.array([[cos, -sin], [sin, cos]]) @ np.diag([scale * self.squeeze[t], scale])
        offset = self.centre[t] - linear @ np.array([(width - 1) / 2, (height - 1) / 2])
        return np.hstack([linear, offset[:, None]])

    def deform_points(self, points: np.ndarray, t: int, sprite_shape: tuple[int, ...]) -> np.ndarray:
        """Deforms points (n, 2) of the sprite: first x by a wave along y, then y by a wave along x."""
        height, width = sprite_shape[:2]
        x = points[:, 0] + self.wave_height * width * np.sin(2 * np.pi * points[:, 1] / height + self.wave[t, 0])
        y = points[:, 1] + self.wave_height * height * np.sin(2 * np.pi * x / width + self.wave[t, 1])
        return np.stack([x, y], axis=1)

    def undeform_grid(self, t: int, sprite_shape: tuple[int, ...], margin: int) -> tuple[np.ndarray, np.ndarray]:
        """Source coordinates of each pixel of the deformed sprite, with a margin around it: maps for cv2.remap."""
        height, width = sprite_shape[:2]
        y, x = np.mgrid[-margin : height + margin, -margin : width + margin].astype(np.float32)
        y = y - self.wave_height * height * np.sin(2 * np.pi * x / width + self.wave[t, 1])
        x = x - self.wave_height * width * np.sin(2 * np.pi * y / height + self.wave[t, 0])
        return x.astype(np.float32), y.astype(np.float32)
