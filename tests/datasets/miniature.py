"""Writing miniature copies of benchmarks."""
from __future__ import annotations

import importlib
from pathlib import Path

from pytracking.evaluation.datasets.registry import DATASETS
from pytracking.evaluation.sequence import SequenceList


def load(name: str, root: Path) -> SequenceList:
    entry = DATASETS[name]
    return importlib.import_module(f"pytracking.evaluation.datasets.{entry.module}").load(root, entry.variant)


def add_frames(folder: Path, numbers: range, picture: bytes, pattern: str = "{:04d}.jpg") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for number in numbers:
        (folder / pattern.format(number)).write_bytes(picture)


def add_text(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def rows(count: int, separator: str = ",", start: int = 0) -> str:
    """Boxes (start + i, 2, 10, 8), one per line."""
    return "".join(separator.join(map(str, (start + i, 2, 10, 8))) + "\n" for i in range(count))
