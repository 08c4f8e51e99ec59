"""Videos with a target mask for every frame, in the layout of DAVIS 2016."""
from pathlib import Path

import cv2
import numpy as np

from ltr.dataset.base import DatasetNotFoundError, FrameFiles, Track
from ltr.dataset.stills import is_usable


class MaskVideos(FrameFiles):
    """``JPEGImages/480p/<video>/*.jpg`` and ``Annotations/480p/<video>/*.png``; boxes are the masks' bounding boxes.

    Args:
        root: folder that contains both.
        without: names of videos to skip.
        only: names of the videos to use; all by default.
    """

    name = "masks"

    def __init__(self, root: Path, without: list[str] | None = None, only: list[str] | None = None) -> None:
        self.images, self.masks = (Path(root) / kind / "480p" for kind in ("JPEGImages", "Annotations"))
        if not self.images.is_dir() or not self.masks.is_dir():
            raise DatasetNotFoundError(f"{root} must hold JPEGImages/480p and Annotations/480p, as DAVIS does")
        found = sorted(folder.name for folder in self.images.iterdir() if folder.is_dir())
        absent = sorted(set(only or []) - set(found))
        if absent:
            raise DatasetNotFoundError(f"the videos {absent} are missing from {self.images}")
        wanted = found if only is None else only
        super().__init__([name for name in wanted if name not in set(without or [])])

    def files(self, index: int) -> list[Path]:
        return sorted((self.images / self.videos[index]).glob("*.jpg"))

    def read_track(self, index: int) -> Track:
        boxes, visible = [], []
        for file in self.files(index):
            path = self.masks / self.videos[index] / f"{file.stem}.png"
            mask = cv2.imread(str(path), cv2.IMREAD_GRAYSCALE)
            if mask is None:
                raise FileNotFoundError(f"cannot read the mask {path}")
            box = mask_box(mask)
            boxes.append(box)
            visible.append(is_usable(box, mask.shape[1], mask.shape[0]))
        return Track(np.array(boxes, np.float32), np.array(visible))


def mask_box(mask: np.ndarray) -> np.ndarray:
    """Bounding box [x, y, w, h] of the nonzero pixels; NaN if there are none."""
    rows, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
    if not len(rows):
        return np.full(4, np.nan)
    corner = np.array([columns[0], rows[0]], float)
    return np.concatenate([corner, np.array([columns[-1], rows[-1]]) + 1 - corner])
