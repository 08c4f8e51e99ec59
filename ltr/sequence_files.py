"""Reads sequence folders and text files with numbers: annotations and result boxes.

Training, evaluation, VOT workspaces and benchmarks all use this module, so a file means the same everywhere. It depends
only on numpy.

Pixel origin: boxes count pixels from 0 everywhere in this project. A text file does not say whether its first pixel is
0 or 1, so its numbers are used as written (origin 0) unless the user states ``origin=1``, which subtracts 1 from every
coordinate (never from a width or height). It is stated as ``folder:PATH?origin=1``, ``vot init --origin 1``,
``origin=1`` after a sequence in a training split, or the argument ``origin`` in Python, and never guessed from names.
"""
import codecs
import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from ltr.errors import UserError

ANNOTATION_NAMES = ("groundtruth_rect.txt", "groundtruth.txt")
IMAGE_FOLDERS = ("img", "color")
IMAGE_SUFFIXES = (".jpg", ".jpeg", ".png", ".bmp", ".tif", ".tiff", ".webp")
ORIGINS = (0, 1)
_SEPARATORS = re.compile(r"[,;\s]+")


class NumberFileError(UserError):
    """The numbers in a text file cannot be read; the message names the file and, if known, the line."""


def check_origin(origin: int | str, source: str | Path) -> int:
    """Returns the origin as an integer; anything but 0 and 1 raises a UserError that names ``source``."""
    if str(origin) not in map(str, ORIGINS):
        raise UserError(f"{source}: origin must be 0 (numbers are used as written) or 1, not {origin!r}")
    return int(origin)


def move_to_zero(regions: np.ndarray, origin: int) -> np.ndarray:
    """Converts boxes (n, 4) or corners (n, 2k) with the given pixel origin to origin 0."""
    moved = np.array(regions, dtype=np.float64)
    coordinates = 2 if moved.shape[-1] == 4 else moved.shape[-1]  # widths and heights do not depend on the origin
    moved[..., :coordinates] -= check_origin(origin, "boxes")
    return moved


def read_boxes(path: str | Path, origin: int = 0) -> np.ndarray:
    """Boxes of an annotation file as float64 (n, 4) with origin 0; a row of NaN means that the target is absent."""
    return move_to_zero(parse_table(Path(path).read_bytes(), path, 4), origin)


def annotation_file(folder: Path, names: Iterable[str] = ANNOTATION_NAMES) -> Path | None:
    """The annotation file of a sequence folder, or None."""
    return next((folder / name for name in names if (folder / name).is_file()), None)


def frame_files(folder: Path) -> list[Path]:
    """Images of a sequence folder in numerical order, so that 10.jpg comes after 9.jpg."""
    images = [path for path in image_folder(folder).iterdir() if path.suffix.lower() in IMAGE_SUFFIXES]
    return sorted(images, key=lambda path: ([int(digits) for digits in re.findall(r"\d+", path.stem)], path.name))


def image_folder(folder: Path) -> Path:
    """The folder with a sequence's images: ``img`` (OTB), ``color`` (VOT), or the folder itself."""
    return next((folder / name for name in IMAGE_FOLDERS if (folder / name).is_dir()), folder)


def parse_table(
    data: bytes, source: str | Path, columns: int | tuple[int, ...], *, blank_lines: bool = True
) -> np.ndarray:
    """Parses all numbers of a text, separated by commas, semicolons or white space, as float64 (n, columns).

    A NumberFileError names ``source`` and the line.

    Args:
        columns: numbers per line; if a tuple allows several counts, all lines must have as many as the first.
        blank_lines: False makes blank lines between others an error: if each line is a frame, one is missing.
    """
    allowed = (columns,) if isinstance(columns, int) else columns
    data = data.removeprefix(codecs.BOM_UTF8)
    for count in allowed:
        table = _parse_at_once(data, count)
        if table is not None:
            return table
    rows: list[tuple[float, ...]] = []
    for number, row in numbered_rows(data, source, blank_lines=blank_lines):
        if len(row) not in allowed or len(row) != len(rows[0] if rows else row):
            expected = f"{len(rows[0])} as in the lines before" if rows else " or ".join(map(str, allowed))
            raise NumberFileError(f"{source}, line {number}: {len(row)} numbers, expected {expected}")
        rows.append(row)
    return np.array(rows)


def numbered_rows(
    data: bytes, source: str | Path, *, blank_lines: bool = True
) -> list[tuple[int, tuple[float, ...]]]:
    """Line number and numbers of each line that is not blank; a NumberFileError names an invalid line."""
    try:
        lines = data.removeprefix(codecs.BOM_UTF8).decode("utf-8").rstrip().splitlines()
    except UnicodeDecodeError:
        raise NumberFileError(f"{source}: not a text file") from None
    rows = []
    for number, line in enumerate(lines, start=1):
        words = [word for word in _SEPARATORS.split(line) if word]
        try:
            row = tuple(map(float, words))
        except ValueError:
            raise NumberFileError(f"{source}, line {number}: not numbers: {line.strip()[:80]!r}") from None
        if row:
            rows.append((number, row))
        elif not blank_lines:
            raise NumberFileError(f"{source}, line {number}: no numbers")
    if not rows:
        raise NumberFileError(f"{source}: the file is empty")
    return rows


def _parse_at_once(data: bytes, columns: int) -> np.ndarray | None:
    """Parses the table ten times as fast as line by line; None unless each line has exactly ``columns`` numbers."""
    letters = np.frombuffer(data.rstrip() + b"\n", dtype=np.uint8)
    gaps = (letters <= ord(" ")) | (letters == ord(","))
    starts = np.flatnonzero(gaps[:-1] & ~gaps[1:]) + 1  # of every number except the first
    starts = starts if gaps[0] else np.concatenate([[0], starts])
    line_ends = np.flatnonzero(letters == ord("\n"))
    if starts.size != line_ends.size * columns:
        return None
    starts = starts.reshape(-1, columns)
    if (starts[:, -1] > line_ends).any() or (starts[1:, 0] < line_ends[:-1]).any():
        return None  # the total is right, but not the count on each line
    try:
        return np.array(data.replace(b",", b" ").split(), dtype=np.float64).reshape(-1, columns)
    except ValueError:
        return None
