"""The target's position and size, in frame and patch coordinates. Points are (y, x), sizes (h, w), in pixels."""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ltr.errors import UserError


@dataclass(frozen=True, slots=True)
class PatchFrame:
    """The coordinate system of a patch."""

    pos: np.ndarray  # (2,) of the patch's middle in the frame
    scale: float  # frame pixels per patch pixel
    size: np.ndarray  # (2,) of the patch
    exact: bool = False  # convert boxes from the patch exactly, not half a pixel off as published

    def box_in_patch(self, pos: np.ndarray, size: np.ndarray) -> np.ndarray:
        """Converts a target at ``pos`` with ``size`` in the frame to a box ``[x, y, w, h]`` in the patch."""
        center = (pos - self.pos) / self.scale + (self.size - 1) / 2
        size_in_patch = size / self.scale
        top_left = center - (size_in_patch - 1) / 2
        return np.concatenate([top_left[::-1], size_in_patch[::-1]])

    def target_in_frame(self, box: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Converts a box ``[x, y, w, h]`` in the patch, as returned by the IoU-Net, to position and size in the frame.

        Unless ``exact`` is set, this is not the inverse of :meth:`box_in_patch`: published DiMP trackers put the centre
        of a box at ``x + (w - 1) / 2`` there but at ``x + w / 2`` here, and their networks are tuned for it.
        """
        center = (box[:2] + box[2:] / 2)[::-1] - (0.5 if self.exact else 0.0)
        return (center - (self.size - 1) / 2) * self.scale + self.pos, box[:1:-1] * self.scale


@dataclass(slots=True)
class TargetState:
    """Position and size of the target, and the scale of the search patch."""

    pos: np.ndarray  # (2,)
    size: np.ndarray  # (2,)
    scale: float  # frame pixels per patch pixel
    base_size: np.ndarray  # (2,) of the target in a patch of the right scale
    image_size: np.ndarray  # (2,) of the frame

    @classmethod
    def from_box(
        cls, box: np.ndarray, image_size: tuple[int, int], patch_size: np.ndarray, search_area_scale: float
    ) -> TargetState:
        """Creates the state for a box ``[x, y, w, h]``; patches are ``search_area_scale`` target sizes wide."""
        x, y, w, h = (float(number) for number in box)
        if not (np.isfinite([x, y, w, h]).all() and w > 0 and h > 0):
            raise UserError(f"init_bbox must be finite [x, y, w, h] with w > 0 and h > 0, got {[x, y, w, h]}")
        size = np.array([h, w])
        scale = float(search_area_scale * np.sqrt(size.prod() / patch_size.prod()))
        return cls(np.array([y + (h - 1) / 2, x + (w - 1) / 2]), size, scale, size / scale, np.array(image_size))

    @property
    def box(self) -> list[float]:
        """``[x, y, w, h]``."""
        return [*(self.pos - (self.size - 1) / 2)[::-1].tolist(), *self.size[::-1].tolist()]

    def move_to(self, pos: np.ndarray, inside_ratio: float) -> None:
        """Moves the target, keeping the fraction ``inside_ratio`` of it inside the frame along each axis."""
        margin = (inside_ratio - 0.5) * self.size
        self.pos = np.maximum(np.minimum(pos, self.image_size - margin), margin)

    def resize(self, size: np.ndarray, *, rescale: bool) -> None:
        """Sets the size and, if ``rescale``, the scale of the next patch."""
        self.size = size
        if rescale:
            self.scale = float(np.sqrt(size.prod() / self.base_size.prod()))
