"""What every source of training videos offers, whatever it is made of: files, still images or a renderer."""
from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import cv2
import numpy as np

from ltr.errors import UserError


@dataclass(frozen=True, slots=True)
class Track:
    """The target's path through one video."""

    boxes: np.ndarray  # (frames, 4) float32 [x, y, w, h], 0-based pixels; rows of invisible frames may be anything
    visible: np.ndarray  # (frames,) bool: the frame may be used for training

    def __post_init__(self) -> None:
        if self.boxes.ndim != 2 or self.boxes.shape[1] != 4 or self.visible.shape != self.boxes.shape[:1]:
            raise ValueError(f"boxes {self.boxes.shape} and visible {self.visible.shape} do not describe one track")


class DatasetNotFoundError(UserError, FileNotFoundError):
    """A dataset's folder is absent or does not have the expected layout."""


class VideoDataset(ABC):
    """Indexed videos with one target each. Frames are RGB uint8 (h, w, 3)."""

    name: str = "videos"
    #: still images pass as videos of one frame: the sampler then takes every frame from that image
    is_video: bool = True

    @abstractmethod
    def __len__(self) -> int:
        """Number of videos (tracks)."""

    @abstractmethod
    def track(self, index: int) -> Track:
        """Boxes and visibility of video `index`, without decoding any frame."""

    @abstractmethod
    def frames(self, index: int, frame_ids: list[int]) -> list[np.ndarray]:
        """The named frames of video `index`."""

    def another_of_its_kind(self, index: int, rng: np.random.Generator) -> np.ndarray | None:
        """The picture (h, w, 3) of something that looks like the target of video `index`; None where none is known."""
        return None

    def another_photograph(self, rng: np.random.Generator) -> np.ndarray | None:
        """Any other picture of this source, as scenery; None for videos, whose frames show theirs."""
        return None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {len(self)} videos)"


class FrameFiles(VideoDataset):
    """Videos whose frames are image files. A track is read when it is first asked for, and kept."""

    def __init__(self) -> None:
        self._track = lru_cache(maxsize=None)(self.read_track)

    @abstractmethod
    def files(self, index: int) -> list[Path]:
        """The frames of a video."""

    @abstractmethod
    def read_track(self, index: int) -> Track:
        """:meth:`track` from disk."""

    def track(self, index: int) -> Track:
        return self._track(index)

    def frames(self, index: int, frame_ids: list[int]) -> list[np.ndarray]:
        files = self.files(index)
        return [read_rgb(files[t]) for t in frame_ids]


def read_rgb(path: object) -> np.ndarray:
    """Decodes an image file to RGB uint8; the error names the file."""
    image = cv2.imread(str(path), cv2.IMREAD_COLOR)
    if image is None:
        raise FileNotFoundError(f"cannot read the image {path}: the file is absent or not an image")
    return cv2.cvtColor(image, cv2.COLOR_BGR2RGB)


def usable_boxes(boxes: np.ndarray, minimum_side: float = 4.0) -> np.ndarray:
    """Mask (frames,) of boxes that are finite and not degenerate."""
    finite = np.isfinite(boxes).all(axis=1)
    sides = np.where(finite[:, None], boxes[:, 2:], 0.0)
    return finite & (sides.min(axis=1) >= minimum_side)
