"""The only reader and writer of result files.

A result is ``<results>/<tracker>/<param>[_%03d]/<sequence>.txt`` (x y w h, tab-separated, two decimals, the first frame
included), with ``<sequence>_time.txt`` (seconds a frame) and, for trackers that score themselves,
``<sequence>_object_presence_scores.txt`` beside it. Readers also take commas, integers and other precisions.
"""
from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from pytracking.utils.files import write_text

_SEPARATOR = re.compile(r"[,\t ]+")


class ResultFileError(ValueError):
    """A result file that cannot be trusted; the message names the file and, where there is one, the line."""


def result_dir(root: str | Path, tracker: str, param: str, run_id: int | None = None) -> Path:
    """Folder of one run's results."""
    return Path(root) / tracker / (param if run_id is None else f"{param}_{run_id:03d}")


def boxes_file(folder: str | Path, sequence_name: str) -> Path:
    """Where the boxes of a sequence are."""
    return Path(folder) / f"{sequence_name}.txt"


def times_file(folder: str | Path, sequence_name: str) -> Path:
    """Where the seconds spent on each frame are."""
    return Path(folder) / f"{sequence_name}_time.txt"


def scores_file(folder: str | Path, sequence_name: str) -> Path:
    """Where the tracker's own scores are, if it has any."""
    return Path(folder) / f"{sequence_name}_object_presence_scores.txt"


def write_boxes(path: str | Path, boxes: np.ndarray) -> None:
    """Writes boxes (n, 4) atomically.

    Raises:
        ResultFileError: if a box is not finite, before anything is written.
    """
    boxes = np.asarray(boxes, dtype=np.float64)
    if boxes.ndim != 2 or boxes.shape[1] != 4:
        raise ResultFileError(f"{path}: boxes must have shape (n, 4), got {boxes.shape}")
    bad = np.flatnonzero(~np.isfinite(boxes).all(axis=1))
    if bad.size:
        raise ResultFileError(f"{path}: the box of frame {bad[0] + 1} is {boxes[bad[0]].tolist()}, not finite numbers")
    write_text(path, "".join("\t".join(f"{value:.2f}" for value in box) + "\n" for box in boxes))


def read_boxes(path: str | Path) -> np.ndarray:
    """Boxes of a result file as float64 (n, 4).

    Raises:
        ResultFileError: if the file is missing or empty, or a line is not four finite numbers.
    """
    return _read_table(path, columns=4)


def write_times(path: str | Path, times: np.ndarray) -> None:
    """Writes the seconds spent on each frame atomically."""
    write_text(path, "".join(f"{value:.6f}\n" for value in np.asarray(times, dtype=np.float64)))


def read_times(path: str | Path) -> np.ndarray:
    """Seconds a frame, float64 (n,)."""
    return _read_table(path, columns=1)[:, 0]


def write_scores(path: str | Path, scores: np.ndarray) -> None:
    """Writes one score a frame atomically; NaN where the tracker gave none."""
    write_text(path, "".join(f"{value:.6g}\n" for value in np.asarray(scores, dtype=np.float64)))


def read_scores(path: str | Path) -> np.ndarray:
    """Scores, float64 (n,); NaN where the tracker gave none."""
    return _read_table(path, columns=1, finite=False)[:, 0]


def is_complete(folder: str | Path, sequence_name: str, frames: int) -> bool:
    """Whether a sequence has a readable result of the right length, with its times.

    Boxes are renamed into place last, so that they vouch for the other files; results that somebody else
    published come without times and count as well.
    """
    try:
        if len(read_boxes(boxes_file(folder, sequence_name))) != frames:
            return False
        times = times_file(folder, sequence_name)
        return not times.exists() or len(read_times(times)) == frames
    except ResultFileError:
        return False


def _read_table(path: str | Path, columns: int, finite: bool = True) -> np.ndarray:
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ResultFileError(f"{path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise ResultFileError(f"{path}: not a text file") from error
    lines = text.rstrip().splitlines()
    if not lines:
        raise ResultFileError(f"{path}: the file is empty")
    table = _parse_fast(lines, columns)
    if table is None or (finite and not np.isfinite(table).all()):
        table = _parse_line_by_line(path, lines, columns, finite)
    return table


def _parse_fast(lines: list[str], columns: int) -> np.ndarray | None:
    """All lines at once; None sends the caller to the slow parser, which can name the line."""
    try:
        table = np.loadtxt((line.replace(",", " ") for line in lines), dtype=np.float64, ndmin=2, comments=None)
    except ValueError:
        return None
    return table if table.shape == (len(lines), columns) else None


def _parse_line_by_line(path: Path, lines: list[str], columns: int, finite: bool) -> np.ndarray:
    table = np.empty((len(lines), columns))
    for number, line in enumerate(lines, start=1):
        try:
            values = [float(word) for word in _SEPARATOR.split(line.strip())]
        except ValueError:
            raise ResultFileError(f"{path}, line {number}: not numbers: {line.strip()!r}") from None
        if len(values) != columns:
            raise ResultFileError(f"{path}, line {number}: {len(values)} numbers, expected {columns}")
        if finite and not np.isfinite(values).all():
            raise ResultFileError(f"{path}, line {number}: not finite: {line.strip()!r}")
        table[number - 1] = values
    return table
