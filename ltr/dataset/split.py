"""Named lists of real sequences for training, exclusion and validation."""
from __future__ import annotations

from pathlib import Path

from ltr.errors import UserError
from ltr.sequence_files import check_origin

SPLITS = Path(__file__).parent / "splits"


class Split(list):
    """Sequence names with the pixel origin of each annotation."""

    def __init__(self, origins: dict[str, int]) -> None:
        super().__init__(origins)
        self.origins = origins  # name -> 0 or 1

    def __getitem__(self, key: int | slice) -> str | Split:
        item = super().__getitem__(key)
        return Split({name: self.origins[name] for name in item}) if isinstance(key, slice) else item


def read_split(name: str) -> Split:
    """Reads a split of this package (such as ``validation_a``) or a text file given by its path.

    Each line names a sequence; ``origin=1`` after the name means that its annotation counts pixels from 1.
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
