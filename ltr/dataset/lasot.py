"""LaSOT's training split: ``<class>/<class>-<n>/{img/00000001.jpg, groundtruth.txt, full_occlusion.txt, …}``."""
from pathlib import Path

import numpy as np

from ltr.dataset.base import CachedTracks, DatasetNotFoundError, Track, read_rgb, usable_boxes


class Lasot(CachedTracks):
    """The sequences named in LaSOT's file ``training_set.txt``, which must be copied to the root."""

    name = "lasot"

    def __init__(self, root: Path) -> None:
        self.root = Path(root)
        listing = self.root / "training_set.txt"
        if not listing.is_file():
            raise DatasetNotFoundError(
                f"{listing} is missing: copy it there from LaSOT's evaluation toolkit, which keeps the 280 test "
                "sequences out of training"
            )
        super().__init__(listing.read_text().split())
        if not self.videos:
            raise DatasetNotFoundError(f"the list of LaSOT sequences {listing} is empty")

    def frames(self, index: int, frame_ids: list[int]) -> list[np.ndarray]:
        return [read_rgb(self._folder(index) / "img" / f"{t + 1:08d}.jpg") for t in frame_ids]

    def _folder(self, index: int) -> Path:
        name = self.videos[index]
        return self.root / name.rsplit("-", 1)[0] / name

    def read_track(self, index: int) -> Track:
        folder = self._folder(index)
        boxes = np.loadtxt(folder / "groundtruth.txt", delimiter=",", dtype=np.float32, ndmin=2)
        hidden = np.zeros(len(boxes), bool)
        for name in ("full_occlusion.txt", "out_of_view.txt"):
            hidden |= np.loadtxt(folder / name, delimiter=",", dtype=int, ndmin=1) > 0
        return Track(boxes, usable_boxes(boxes) & ~hidden)
