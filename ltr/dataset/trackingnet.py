"""TrackingNet's training parts: ``TRAIN_<n>/{anno/<video>.txt, frames/<video>/0.jpg}``."""
from __future__ import annotations

from pathlib import Path

import numpy as np

from ltr.dataset.base import CachedTracks, DatasetNotFoundError, Track, read_rgb, usable_boxes


class TrackingNet(CachedTracks):
    """Videos of the given parts; DiMP uses the first four."""

    name = "trackingnet"

    def __init__(self, root: Path, parts: tuple[int, ...] = (0, 1, 2, 3)) -> None:
        self.root = Path(root)
        self.videos = [
            (f"TRAIN_{part}", path.stem)
            for part in parts
            for path in sorted((self.root / f"TRAIN_{part}" / "anno").glob("*.txt"))
        ]
        if not self.videos:
            raise DatasetNotFoundError(f"no TRAIN_<n>/anno/*.txt below {self.root} for the parts {parts}")
        super().__init__()

    def __len__(self) -> int:
        return len(self.videos)


    def frames(self, index: int, frame_ids: list[int]) -> list[np.ndarray]:
        part, video = self.videos[index]
        return [read_rgb(self.root / part / "frames" / video / f"{t}.jpg") for t in frame_ids]

    def read_track(self, index: int) -> Track:
        part, video = self.videos[index]
        boxes = np.loadtxt(self.root / part / "anno" / f"{video}.txt", delimiter=",", dtype=np.float32, ndmin=2)
        return Track(boxes, usable_boxes(boxes))
