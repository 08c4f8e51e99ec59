"""Shared by the loaders of public benchmarks: sequence lists, frame folders, number files and errors.

The lists in ``lists/`` name the sequences of each benchmark. Frames are found by listing the benchmark's own folders,
so zero padding and image format need not be known.
"""
import csv
import os
import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ltr.errors import UserError
from ltr.sequence_files import IMAGE_SUFFIXES, NumberFileError, move_to_zero, numbered_rows, parse_table
from pytracking.evaluation.sequence import Sequence, SequenceError, SequenceList
from pytracking.utils.names import shortened

LISTS = Path(__file__).with_name("lists")
SHOWN_PROBLEMS = 12  # of an incomplete download; the others are only counted
ROWS_SHORT_ALLOWED = 2  # some benchmarks leave the last one or two frames without a box

Item = TypeVar("Item")


class IncompleteDatasetError(UserError, FileNotFoundError):
    """A download lacks sequences; the message names them and shows the expected layout.

    The ``present`` sequences can still be used; ``expected`` is how many there should be.
    """

    def __init__(
        self, dataset: str, message: str, layout: str, present: Iterable[Sequence] = (), expected: int = 0
    ) -> None:
        self.present = SequenceList(present)
        self.expected = expected
        remedy = ""
        if self.present:
            remedy = f"\nTo run on the {len(self.present)} available sequences, write '{dataset}?missing=skip'"
        super().__init__(f"dataset '{dataset}'{message}\nexpected layout: {layout}{remedy}")


class MissingPartError(LookupError):
    """One sequence cannot be loaded; collected into an IncompleteDatasetError."""


def read_names(name: str) -> list[str]:
    """Lines of ``lists/<name>.txt``."""
    return (LISTS / f"{name}.txt").read_text(encoding="utf-8").split()


def read_table(name: str) -> list[dict[str, str]]:
    """Rows of ``lists/<name>.csv``."""
    with open(LISTS / f"{name}.csv", encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def build_all(
    dataset: str, root: Path | None, layout: str, items: Iterable[Item], build: Callable[[Item], Sequence]
) -> SequenceList:
    """Builds a sequence from each of ``items``, or raises one error that lists all missing ones."""
    if root is None or not root.is_dir():
        raise IncompleteDatasetError(dataset, f": the folder '{root}' does not exist", layout)
    sequences, problems, count = SequenceList(), [], 0
    _list_images.cache_clear()
    for item in items:
        count += 1
        try:
            sequences.append(build(item))
        except (MissingPartError, SequenceError) as error:
            problems.append(str(error))
    if problems or not count:
        shown = "\n  ".join(shortened(problems, SHOWN_PROBLEMS)) or "no sequences found"
        message = f" in '{root}': {len(problems)} of {count} sequences are missing or incomplete:\n  {shown}"
        raise IncompleteDatasetError(dataset, message, layout, sequences, count)
    return sequences


def first_existing(name: str, *candidates: Path) -> Path:
    """Returns the first path that exists; raises a MissingPartError if none does."""
    for path in candidates:
        if path.exists():
            return path
    raise MissingPartError(f"{name}: no {candidates[0]}")


def frames_of(name: str, folder: Path, first: int | None = None, count: int | None = None) -> list[str]:
    """Lists the numbered frames in a folder: ``count`` of them starting at number ``first``, or all."""
    images = _list_images(str(folder))
    if not images:
        raise MissingPartError(f"{name}: no images in {folder}")
    numbers = sorted(number for number in images if first is None or number >= first)
    wanted = numbers if count is None else range(numbers[0] if first is None else first, 1 << 62)[:count]
    absent = [number for number in wanted if number not in images]
    if absent or not wanted:
        detail = f"the first is {absent[0]}" if absent else f"none from number {first} on"
        raise MissingPartError(f"{name}: {len(absent)} of {len(wanted)} frames missing in {folder} ({detail})")
    prefix = os.path.join(folder, "")
    return [prefix + images[number] for number in wanted]


@lru_cache(maxsize=4)  # consecutive clips of one video share a folder
def _list_images(folder: str) -> dict[int, str]:
    """Maps frame numbers to file names; the number is the last group of digits in the name."""
    if not os.path.isdir(folder):
        return {}
    images = {}
    for entry in os.listdir(folder):
        stem, _, suffix = entry.rpartition(".")
        if "." + suffix.lower() not in IMAGE_SUFFIXES or stem.startswith("."):
            continue
        digits = stem if stem.isdecimal() else (re.findall(r"\d+", stem) or [""])[-1]
        if digits:
            images[int(digits)] = entry
    return images


def annotated(
    name: str, dataset: str, annotation: Path, images: Path, first: int | None = None, last: int | None = None, *,
    skip: int = 0, prefix: str = "", flags: tuple[Path, Path] | None = None, **facts: Any,
) -> Sequence:  # fmt: skip
    """Builds a sequence from a file of boxes and a folder of frames: one frame per box, starting at number ``first``.

    Args:
        last: number of the last frame; boxes beyond it are dropped, too few boxes are an error.
        skip: number of frames without a target at the start.
        prefix: of the sequence's name.
        flags: files with 0 or 1 per frame: full occlusion, out of view. The target is visible if neither is set.
        facts: further arguments of :class:`Sequence`.
    """
    boxes = read_numbers(first_existing(name, annotation), 4)
    if last is not None:
        expected = last - first + 1
        if len(boxes) < expected - ROWS_SHORT_ALLOWED:
            raise MissingPartError(f"{name}: {len(boxes)} boxes in {annotation}, expected {expected}")
        boxes = boxes[skip:expected]
    if flags is not None:
        hidden, outside = map(read_flags, flags)
        if not len(hidden) == len(outside) == len(boxes):
            counts = f"{len(boxes)} boxes, {len(hidden)} occlusion flags, {len(outside)} out-of-view flags"
            raise MissingPartError(f"{name}: {counts}")
        facts["target_visible"] = ~(hidden | outside)
    frames = frames_of(name, images, None if first is None else first + skip, len(boxes))
    return Sequence(prefix + name, frames, dataset, boxes, annotation_file=annotation, **facts)


def read_numbers(path: Path, columns: int | tuple[int, ...]) -> np.ndarray:
    """Reads numbers separated by commas, tabs, semicolons or spaces from a text file, as float64 (n, columns).

    Raises a MissingPartError if there is no such file, and a SequenceError that names a line with a different count.
    """
    try:
        return parse_table(path.read_bytes(), path, columns)
    except NumberFileError as error:
        raise SequenceError(str(error)) from None
    except OSError as error:
        raise MissingPartError(f"{path.parent.name}: cannot read {path} ({error.strerror})") from error


def read_regions(path: Path, origin: int = 0) -> list[tuple[float, ...]]:
    """Reads VOT's regions, one box or polygon per line, as pixels counted from 0; a SequenceError names a bad line."""
    regions = []
    try:
        for number, row in numbered_rows(path.read_bytes(), path):
            if len(row) != 4 and (len(row) < 6 or len(row) % 2):
                raise NumberFileError(f"{path}, line {number}: {len(row)} numbers, expected x, y, w, h or corners x, y")
            regions.append(tuple(move_to_zero(row, origin).tolist()))
    except NumberFileError as error:
        raise SequenceError(str(error)) from None
    return regions


def read_flags(path: Path) -> np.ndarray:
    """Reads 0/1 flags from a text file, in rows or columns, as bool (n,)."""
    try:
        words = path.read_text(encoding="utf-8-sig").replace(",", " ").split()
    except OSError as error:
        raise MissingPartError(f"{path.parent.name}: cannot read {path} ({error.strerror})") from error
    try:
        return np.array(words, dtype=np.float64) != 0
    except ValueError:
        raise SequenceError(f"{path}: expected flags 0 or 1") from None
