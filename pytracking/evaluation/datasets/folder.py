"""Any folder of sequences in the OTB layout: ``<sequence>/img/*`` and ``<sequence>/groundtruth_rect.txt``.

Boxes are taken as they stand (0-based pixels; a benchmark whose boxes are 1-based has its own loader). A row of NaN
means that the target is absent. The folder of one single sequence is accepted too.
"""
from __future__ import annotations

import re
import warnings
from pathlib import Path

import numpy as np

from pytracking.evaluation.sequence import Sequence, SequenceError, SequenceList
from pytracking.utils.image_io import IMAGE_SUFFIXES

ANNOTATION_NAMES = ("groundtruth_rect.txt", "groundtruth.txt")
LAYOUT = "expected <sequence>/img/0001.jpg ... and <sequence>/groundtruth_rect.txt"


def load(root: Path | None, variant: str | None = None) -> SequenceList:
    """All sequences below ``root``, sorted by name."""
    if root is None or not root.is_dir():
        raise FileNotFoundError(f"folder '{root}' does not exist; {LAYOUT}")
    folders = [root] if _annotation_file(root) else sorted(path for path in root.iterdir() if _annotation_file(path))
    if not folders:
        raise FileNotFoundError(f"no sequences in '{root}'; {LAYOUT}")
    without = [path.name for path in root.iterdir() if (path / "img").is_dir() and path not in folders]
    if without:
        warnings.warn(f"{root}: no groundtruth_rect.txt in {', '.join(sorted(without))}: left out", stacklevel=2)
    return SequenceList(load_sequence(folder, dataset=root.name) for folder in folders)


def load_sequence(folder: Path, dataset: str) -> Sequence:
    """One sequence folder."""
    annotation_file = _annotation_file(folder)
    images = folder / "img" if (folder / "img").is_dir() else folder
    frames = [path for path in images.iterdir() if path.suffix.lower() in IMAGE_SUFFIXES]
    if not frames:
        raise SequenceError(f"sequence '{folder.name}': no images in {images}; {LAYOUT}")
    frames.sort(key=_frame_order)
    boxes = read_annotation(annotation_file)
    return Sequence(folder.name, frames, dataset, boxes, annotation_file=annotation_file)


def read_annotation(path: Path) -> np.ndarray:
    """Boxes (n, 4) of a text file, with commas, tabs or spaces between the numbers.

    Raises:
        SequenceError: naming file and line, if a line is not four numbers.
    """
    rows = []
    for number, line in enumerate(path.read_text(encoding="utf-8-sig").splitlines(), start=1):
        words = re.split(r"[,\s]+", line.strip().strip(","))
        if words == [""]:
            continue
        try:
            row = [float(word) for word in words]
        except ValueError:
            raise SequenceError(f"{path}, line {number}: not numbers: {line.strip()!r}") from None
        if len(row) != 4:
            raise SequenceError(f"{path}, line {number}: {len(row)} numbers, expected x, y, w, h")
        rows.append(row)
    if not rows:
        raise SequenceError(f"{path}: no boxes")
    return np.array(rows)


def _annotation_file(folder: Path) -> Path | None:
    return next((folder / name for name in ANNOTATION_NAMES if (folder / name).is_file()), None)


def _frame_order(path: Path) -> tuple[list[int], str]:
    """Numbers by value, so that 10.jpg comes after 9.jpg."""
    return [int(digits) for digits in re.findall(r"\d+", path.stem)], path.name
