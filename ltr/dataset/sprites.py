"""Sprites (object-like pictures with alpha) and photographs: the raw material of the synthetic videos.

A bank is a folder with ``sprites/*.png`` (RGBA) and ``photos/*.jpg``, made by ``python -m ltr.dataset.collect_sprites``
from freely licensed packages. Without a folder, the bank draws random shapes, which is enough for tests and smoke runs.
"""
from pathlib import Path

import cv2
import numpy as np

from ltr.dataset.base import DatasetNotFoundError

SPRITE_SIDE = 128  # pixels: longest side of a sprite
PHOTO_SIDE = 960  # pixels: longest side of a stored photograph


class SpriteBank:
    """Serves random sprites and photographs; files are kept encoded in memory and decoded on request."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder
        self._sprites: list[list[bytes]] = []  # one list per kind of sprite; kinds are drawn equally often
        self._photos: list[bytes] = []
        if folder is not None:
            kinds: dict[str, list[bytes]] = {}
            for path in sorted((folder / "sprites").glob("*.png")):
                kinds.setdefault(path.name.split("_")[0], []).append(path.read_bytes())
            self._sprites = list(kinds.values())
            self._photos = [path.read_bytes() for path in sorted((folder / "photos").glob("*.jpg"))]
            if not self._sprites or not self._photos:
                raise DatasetNotFoundError(
                    f"{folder} holds no sprites/*.png or no photos/*.jpg: make it with "
                    f"`python -m ltr.dataset.collect_sprites {folder}`"
                )

    def sprite(self, rng: np.random.Generator) -> np.ndarray:
        """A random sprite (h, w, 4) uint8 RGBA, longest side SPRITE_SIDE, cropped to its opaque part."""
        if not self._sprites:
            return drawn_sprite(rng)
        kind = self._sprites[rng.integers(len(self._sprites))]
        encoded = kind[rng.integers(len(kind))]
        return cv2.cvtColor(cv2.imdecode(np.frombuffer(encoded, np.uint8), cv2.IMREAD_UNCHANGED), cv2.COLOR_BGRA2RGBA)

    def photo(self, rng: np.random.Generator) -> np.ndarray:
        """A random photograph (h, w, 3) uint8 RGB."""
        if not self._photos:
            return drawn_photo(rng)
        encoded = self._photos[rng.integers(len(self._photos))]
        return cv2.cvtColor(cv2.imdecode(np.frombuffer(encoded, np.uint8), cv2.IMREAD_COLOR), cv2.COLOR_BGR2RGB)


def blob_mask(rng: np.random.Generator, side: int = SPRITE_SIDE) -> np.ndarray:
    """A random rounded silhouette, (h, w) uint8 in 0..255, cropped to its extent."""
    angles = np.linspace(0, 2 * np.pi, 48, endpoint=False)
    radius = np.ones_like(angles)
    for wave in range(1, 6):
        radius += rng.normal(0, 0.35 / wave) * np.cos(wave * angles + rng.uniform(0, 2 * np.pi))
    radius = np.clip(radius, 0.25, None)
    stretch = np.exp(rng.normal(0, 0.4, 2))
    points = np.stack([radius * np.cos(angles) * stretch[0], radius * np.sin(angles) * stretch[1]], axis=1)  # (48, 2)
    points -= points.min(axis=0)
    points *= (side - 1) / points.max()
    width, height = np.ceil(points.max(axis=0)).astype(int) + 1
    mask = np.zeros((height, width), np.uint8)
    cv2.fillPoly(mask, [np.round(points * 16).astype(np.int32)], 255, cv2.LINE_AA, shift=4)
    return mask


def cloud_texture(rng: np.random.Generator, height: int, width: int) -> np.ndarray:
    """Coloured noise with energy at many scales, (height, width, 3) uint8."""
    texture = np.zeros((height, width, 3), np.float32)
    for octave in range(2, 7):
        cells = 2**octave
        noise = rng.normal(0, 1.0, (cells, cells, 3)).astype(np.float32)
        noise = 0.5 * noise + 0.5 * noise.mean(axis=2, keepdims=True)
        texture += cv2.resize(noise, (width, height), interpolation=cv2.INTER_CUBIC) * 0.7**octave
    texture = (texture - texture.mean()) / (texture.std() + 1e-6)
    colour = rng.uniform(60, 190, 3)
    return np.clip(colour + texture * rng.uniform(15, 60), 0, 255).astype(np.uint8)


def drawn_sprite(rng: np.random.Generator) -> np.ndarray:
    """A blob of coloured noise, (h, w, 4) uint8."""
    mask = blob_mask(rng)
    return np.dstack([cloud_texture(rng, *mask.shape), mask])


def drawn_photo(rng: np.random.Generator) -> np.ndarray:
    """Coloured noise with a few pasted shapes, as a stand-in for a photograph, (480, 640, 3) uint8."""
    photo = cloud_texture(rng, 480, 640)
    for _ in range(12):
        mask = cv2.resize(blob_mask(rng), None, fx=rng.uniform(0.3, 1.2), fy=rng.uniform(0.3, 1.2))
        height, width = mask.shape
        top, left = rng.integers(0, 480 - height), rng.integers(0, 640 - width)
        view = photo[top : top + height, left : left + width]
        view[mask > 127] = cloud_texture(rng, height, width)[mask > 127]
    return photo
