"""Lists of videos that belong together: what is trained on, what is kept apart."""
from __future__ import annotations

from pathlib import Path

SPLITS = Path(__file__).parent / "splits"


def read_split(name: str) -> list[str]:
    """Names in a split of this package (such as ``validation_a``), or in any text file given by path."""
    path = Path(name) if name.endswith(".txt") else SPLITS / f"{name}.txt"
    if not path.is_file():
        known = ", ".join(sorted(p.stem for p in SPLITS.glob("*.txt")))
        raise FileNotFoundError(f"no split {name!r}: give the path of a .txt file or one of {known}")
    lines = (line.strip() for line in path.read_text().splitlines())
    return [line for line in lines if line and not line.startswith("#")]
