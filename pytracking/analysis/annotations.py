"""Scores without frames: reads a folder of annotations such as the evaluation toolkits ship."""
from pathlib import Path

from pytracking.evaluation.datasets.base import read_flags, read_numbers
from pytracking.evaluation.sequence import Sequence, SequenceError, SequenceList

LAYOUT = "expected <sequence>.txt (one box per line) and, where targets disappear, absent/<sequence>.txt (1 = absent)"


def load_annotations(folder: Path, dataset: str) -> SequenceList:
    """Returns sequences that can be scored but not tracked, because their frames are missing.

    The folder has ``<sequence>.txt`` with one box per line and, where targets disappear, ``absent/<sequence>.txt``.
    """
    files = sorted(folder.glob("*.txt")) if folder.is_dir() else []
    if not files:
        raise FileNotFoundError(f"no annotations in '{folder}'; {LAYOUT}")
    return SequenceList(_load(path, dataset) for path in files)


def _load(path: Path, dataset: str) -> Sequence:
    boxes = read_numbers(path, 4)
    absent = path.parent / "absent" / path.name
    visible = ~read_flags(absent) if absent.exists() else None
    if visible is not None and len(visible) != len(boxes):
        raise SequenceError(f"{absent}: {len(visible)} flags for {len(boxes)} boxes")
    frames = [f"{path.stem}/{number:08d}" for number in range(1, len(boxes) + 1)]
    return Sequence(path.stem, frames, dataset, boxes, target_visible=visible, annotation_file=path)
