"""Interface of all sources of training videos: image files, still images or a renderer."""
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import cv2
import numpy as np

from ltr.errors import UserError


@dataclass(frozen=True, slots=True)
class Track:
    """The target's path through one video."""

    boxes: np.ndarray  # (frames, 4) float32 [x, y, w, h], 0-based pixels; arbitrary where not visible
    visible: np.ndarray  # (frames,) bool: the frame may be used for training

    def __post_init__(self) -> None:
        if self.boxes.ndim != 2 or self.boxes.shape[1] != 4 or self.visible.shape != self.boxes.shape[:1]:
            raise ValueError(f"boxes {self.boxes.shape} and visible {self.visible.shape} do not describe one track")


class DatasetNotFoundError(UserError, FileNotFoundError):
    """A dataset's folder is missing or does not have the expected layout."""


class VideoDataset(ABC):
    """Indexed videos with one target each. Frames are RGB uint8 (h, w, 3)."""

    name: str = "videos"
    is_video: bool = True  # False for still images: videos of one frame, from which all frames of an example are taken

    @abstractmethod
    def __len__(self) -> int:
        """Number of videos (tracks)."""

    @abstractmethod
    def track(self, index: int) -> Track:
        """Boxes and visibility of video `index`, without decoding frames."""

    @abstractmethod
    def frames(self, index: int, frame_ids: list[int]) -> list[np.ndarray]:
        """The given frames of video `index`."""

    def another_of_its_kind(self, index: int, rng: np.random.Generator) -> np.ndarray | None:
        """A picture (h, w, 3) of another object of the same class as the target of video `index`, if there is one."""
        return None

    def another_photograph(self, rng: np.random.Generator) -> np.ndarray | None:
        """A random picture of this source to use as a backdrop; None for videos, which do not need one."""
        return None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {len(self)} videos)"


class CachedTracks(VideoDataset):
    """Videos, identified by the items of a list, whose tracks are read from disk on first use and kept."""

    def __init__(self, videos: list) -> None:
        self.videos = videos
        self._cached_track = cache(self.read_track)

    def __len__(self) -> int:
        return len(self.videos)

    @abstractmethod
    def read_track(self, index: int) -> Track:
        """:meth:`track` from disk."""

    def track(self, index: int) -> Track:
        return self._cached_track(index)


class FrameFiles(CachedTracks):
    """Videos whose frames are image files."""

    @abstractmethod
    def files(self, index: int) -> list[Path]:
        """The frames of a video."""

    def frames(self, index: int, frame_ids: list[int]) -> list[np.ndarray]:
        files = self.files(index)
        return [read_rgb(files[t]) for t in frame_ids]


def read_rgb(path: object) -> np.ndarray:
    """Decodes an image file to RGB uint8; the error names the file."""
    image = cv2.imread(str(path), cv2.IMREAD_COLOR)
    if image is None:
        raise FileNotFoundError(f"cannot read the image {path}: the file is missing or not an image")
    return cv2.cvtColor(image, cv2.COLOR_BGR2RGB)


def usable_boxes(boxes: np.ndarray, minimum_side: float = 4.0) -> np.ndarray:
    """Mask (frames,) of boxes that are finite with sides of at least `minimum_side`."""
    finite = np.isfinite(boxes).all(axis=1)
    sides = np.where(finite[:, None], boxes[:, 2:], 0.0)
    return finite & (sides.min(axis=1) >= minimum_side)
