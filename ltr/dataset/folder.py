"""Real sequences in the layout of OTB: ``<sequence>/img/*.jpg`` and ``<sequence>/groundtruth_rect.txt``."""
from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

import numpy as np

from ltr.dataset.base import DatasetNotFoundError, Track, VideoDataset, read_rgb, usable_boxes

SPLITS = Path(__file__).parent / "splits"


def read_split(name: str) -> list[str]:
    """Names in a split of this package (``real_train``, ``real_validation``), or in any text file given by path."""
    path = Path(name) if name.endswith(".txt") else SPLITS / f"{name}.txt"
    if not path.is_file():
        known = ", ".join(sorted(p.stem for p in SPLITS.glob("*.txt")))
        raise FileNotFoundError(f"no split {name!r}: give the path of a .txt file or one of {known}")
    lines = (line.strip() for line in path.read_text().splitlines())
    return [line for line in lines if line and not line.startswith("#")]


class FolderVideos(VideoDataset):
    """All sequences below `root`, or those named in `sequences` (paths relative to `root`).

    OTB counts pixels from 1, the others from 0: sequences below a folder called ``OTB`` are shifted by one pixel.
    """

    def __init__(self, root: Path, sequences: list[str] | None = None) -> None:
        self.root = Path(root)
        self.name = f"folder:{self.root.name}"
        if sequences is None:
            found = self.root.glob("**/groundtruth_rect.txt")
            sequences = sorted(path.parent.relative_to(self.root).as_posix() for path in found)
        absent = [s for s in sequences if not (self.root / s / "groundtruth_rect.txt").is_file()]
        if absent or not sequences:
            what = f"{absent[0]}/groundtruth_rect.txt" if absent else "*/groundtruth_rect.txt"
            raise DatasetNotFoundError(f"{what} is absent below {self.root}: expected sequences in OTB's layout there")
        self.sequences = sequences
        self._files = lru_cache(maxsize=None)(self._list_files)
        self._track = lru_cache(maxsize=None)(self._read_track)

    def __len__(self) -> int:
        return len(self.sequences)

    def track(self, index: int) -> Track:
        return self._track(index)

    def frames(self, index: int, frame_ids: list[int]) -> list[np.ndarray]:
        files = self._files(index)
        return [read_rgb(files[t]) for t in frame_ids]

    def some_files(self, every: int) -> list[Path]:
        """Every `every`-th frame of each sequence, for instance as backgrounds of synthetic videos."""
        return [file for index in range(len(self)) for file in self._files(index)[::every]]

    def _list_files(self, index: int) -> list[Path]:
        folder = self.root / self.sequences[index] / "img"
        files = sorted(p for p in folder.iterdir() if p.suffix.lower() in (".jpg", ".jpeg", ".png", ".bmp"))
        if not files:
            raise DatasetNotFoundError(f"no images in {folder}")
        return files

    def _read_track(self, index: int) -> Track:
        path = self.root / self.sequences[index] / "groundtruth_rect.txt"
        rows = [re.split(r"[,\s]+", line.strip()) for line in path.read_text().splitlines() if line.strip()]
        try:
            boxes = np.array(rows, dtype=np.float64)[:, :4]
        except ValueError as error:
            raise ValueError(f"{path}: every line must hold x, y, w, h ({error})") from None
        if "OTB" in self.sequences[index].split("/") or self.root.name == "OTB":
            boxes[:, :2] -= 1
        boxes = boxes[: len(self._files(index))]
        return Track(boxes.astype(np.float32), usable_boxes(boxes))
