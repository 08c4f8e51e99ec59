"""TrackingNet's training parts: ``TRAIN_<n>/{anno/<video>.txt, frames/<video>/0.jpg}``."""
from pathlib import Path

import numpy as np

from ltr.dataset.base import CachedTracks, DatasetNotFoundError, Track, read_rgb, usable_boxes


class TrackingNet(CachedTracks):
    """Videos of the given parts; DiMP uses the first four."""

    name = "trackingnet"

    def __init__(self, root: Path, parts: tuple[int, ...] = (0, 1, 2, 3)) -> None:
        folders = [Path(root) / f"TRAIN_{part}" for part in parts]
        super().__init__([(folder, path.stem) for folder in folders for path in sorted(folder.glob("anno/*.txt"))])
        if not self.videos:
            raise DatasetNotFoundError(f"no TRAIN_<n>/anno/*.txt below {root} for the parts {parts}")

    def frames(self, index: int, frame_ids: list[int]) -> list[np.ndarray]:
        folder, video = self.videos[index]
        return [read_rgb(folder / "frames" / video / f"{t}.jpg") for t in frame_ids]

    def read_track(self, index: int) -> Track:
        folder, video = self.videos[index]
        boxes = np.loadtxt(folder / "anno" / f"{video}.txt", delimiter=",", dtype=np.float32, ndmin=2)
        return Track(boxes, usable_boxes(boxes))
