"""LaSOT's training split: ``<class>/<class>-<n>/{img/00000001.jpg, groundtruth.txt, full_occlusion.txt, …}``."""
from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np

from ltr.dataset.base import DatasetNotFoundError, Track, VideoDataset, read_rgb, usable_boxes


class Lasot(VideoDataset):
    """Sequences named in `sequences`, or in the file ``training_set.txt`` of LaSOT's toolkit, put into the root."""

    name = "lasot"

    def __init__(self, root: Path, sequences: list[str] | None = None) -> None:
        self.root = Path(root)
        if sequences is None:
            listing = self.root / "training_set.txt"
            if not listing.is_file():
                raise DatasetNotFoundError(
                    f"{listing} is absent: copy it there from LaSOT's evaluation toolkit, so that none of the 280 test "
                    "sequences is trained on"
                )
            sequences = listing.read_text().split()
        if not sequences:
            raise DatasetNotFoundError(f"no sequences of LaSOT named for {self.root}")
        self.sequences = sequences
        self._track = lru_cache(maxsize=2_000)(self._read_track)

    def __len__(self) -> int:
        return len(self.sequences)

    def track(self, index: int) -> Track:
        return self._track(index)

    def frames(self, index: int, frame_ids: list[int]) -> list[np.ndarray]:
        return [read_rgb(self._folder(index) / "img" / f"{t + 1:08d}.jpg") for t in frame_ids]

    def _folder(self, index: int) -> Path:
        name = self.sequences[index]
        return self.root / name.rsplit("-", 1)[0] / name

    def _read_track(self, index: int) -> Track:
        folder = self._folder(index)
        boxes = np.loadtxt(folder / "groundtruth.txt", delimiter=",", dtype=np.float32, ndmin=2)
        hidden = np.zeros(len(boxes), bool)
        for name in ("full_occlusion.txt", "out_of_view.txt"):
            hidden |= np.loadtxt(folder / name, delimiter=",", dtype=int, ndmin=1) > 0
        return Track(boxes, usable_boxes(boxes) & ~hidden)
