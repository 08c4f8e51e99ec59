"""GOT-10k's training split: ``train/GOT-10k_Train_000001/{00000001.jpg, groundtruth.txt, *.label}``."""
from pathlib import Path

import numpy as np

from ltr.dataset.base import CachedTracks, DatasetNotFoundError, Track, read_rgb, usable_boxes

FULLY_VISIBLE = 8  # cover labels give the visible part of the target in eighths


class Got10k(CachedTracks):
    """The sequences of ``list.txt``, or all if there is no such file."""

    name = "got10k"

    def __init__(self, root: Path) -> None:
        self.folder = Path(root) / "train"
        listing = self.folder / "list.txt"
        found = (path.name for path in self.folder.glob("GOT-10k_Train_*"))
        super().__init__(listing.read_text().split() if listing.is_file() else sorted(found))
        if not self.videos:
            raise DatasetNotFoundError(f"no GOT-10k_Train_* in {self.folder}: name the folder that contains `train`")

    def frames(self, index: int, frame_ids: list[int]) -> list[np.ndarray]:
        folder = self.folder / self.videos[index]
        return [read_rgb(folder / f"{t + 1:08d}.jpg") for t in frame_ids]

    def read_track(self, index: int) -> Track:
        folder = self.folder / self.videos[index]
        boxes = np.loadtxt(folder / "groundtruth.txt", delimiter=",", dtype=np.float32, ndmin=2)
        absent = _labels(folder / "absence.label", len(boxes), 0) > 0
        cover = _labels(folder / "cover.label", len(boxes), FULLY_VISIBLE)
        return Track(boxes, usable_boxes(boxes) & ~absent & (cover > 0))


def _labels(path: Path, length: int, default: int) -> np.ndarray:
    return np.loadtxt(path, dtype=int, ndmin=1) if path.is_file() else np.full(length, default)
