"""Real sequences in the layout of OTB: ``<sequence>/img/*.jpg`` and ``<sequence>/groundtruth_rect.txt``."""
from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np

from ltr.dataset.base import DatasetNotFoundError, Track, VideoDataset, read_rgb, usable_boxes
from ltr.errors import UserError
from ltr.sequence_files import check_origin, frame_files, read_boxes

SPLITS = Path(__file__).parent / "splits"


class Split(list):
    """Names of sequences, with the pixel origin of those whose annotation does not count from 0."""

    def __init__(self, origins: dict[str, int]) -> None:
        super().__init__(origins)
        self.origins = origins  # name -> 0 or 1

    def __getitem__(self, key: int | slice) -> str | Split:
        item = super().__getitem__(key)
        return Split({name: self.origins[name] for name in item}) if isinstance(key, slice) else item


def read_split(name: str) -> Split:
    """A split of this package (such as ``validation_a``), or any text file given by path.

    Each line names a sequence; ``origin=1`` after the name says that its annotation counts pixels from 1.
    """
    path = Path(name) if name.endswith(".txt") else SPLITS / f"{name}.txt"
    if not path.is_file():
        known = ", ".join(sorted(p.stem for p in SPLITS.glob("*.txt")))
        raise FileNotFoundError(f"no split {name!r}: give the path of a .txt file or one of {known}")
    origins = {}
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        words = line.partition("#")[0].split()
        for option in words[1:]:
            if not option.startswith("origin="):
                raise UserError(f"{path}, line {number}: {option!r}: only origin=0 or origin=1 may follow a name")
        if words:
            stated = words[-1].removeprefix("origin=") if len(words) > 1 else 0
            origins[words[0]] = check_origin(stated, f"{path}, line {number}")
    return Split(origins)


class FolderVideos(VideoDataset):
    """All sequences below `root`, or those named in `sequences` (paths relative to `root`).

    Boxes are taken as written, except for sequences of a split that states their `origin`; `origin` is for sequences
    that no split names.
    """

    def __init__(self, root: Path, sequences: Split | list[str] | None = None, origin: int = 0) -> None:
        self.root = Path(root)
        self._origin = check_origin(origin, "FolderVideos")
        self._origins = sequences.origins if isinstance(sequences, Split) else {}
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
        folder = self.root / self.sequences[index]
        files = frame_files(folder)
        if not files:
            raise DatasetNotFoundError(f"no images in {folder}")
        return files

    def _read_track(self, index: int) -> Track:
        name = self.sequences[index]
        boxes = read_boxes(self.root / name / "groundtruth_rect.txt", self._origins.get(name, self._origin))
        boxes = boxes[: len(self._files(index))]
        return Track(boxes.astype(np.float32), usable_boxes(boxes))
