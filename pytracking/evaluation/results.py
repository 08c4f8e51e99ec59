"""Reads and writes result files; no other module does.

A result is ``<results>/<tracker>/<param>[_%03d]/<sequence>.txt`` (x y w h, tab-separated, two decimals, the first frame
included), accompanied by ``<sequence>_time.txt`` (seconds per frame) and, for trackers that output scores,
``<sequence>_object_presence_scores.txt``. Readers also accept commas, integers and other precisions.
"""
import re
from pathlib import Path

import numpy as np

from ltr.errors import UserError
from ltr.sequence_files import NumberFileError, parse_table
from pytracking.utils.files import write_text


class ResultFileError(UserError):
    """An invalid result file; the message names the file and, if known, the line."""


class ResultPath(type(Path())):
    """A path that pytracking's scripts can also use as a string: ``results_dir + "/x.txt"``."""

    def __add__(self, text: str) -> str:
        return str(self) + text


def result_dir(root: str | Path, tracker: str, param: str, run_id: int | None = None) -> ResultPath:
    """Folder of one run's results."""
    return ResultPath(root) / tracker / (param if run_id is None else f"{param}_{run_id:03d}")


def list_runs(folder: Path, param: str) -> dict[int | None, Path]:
    """Folders or zips of a parameter file's runs in a tracker's folder, by run number (None: the run without one)."""
    runs: dict[int | None, Path] = {}
    for path in sorted(folder.iterdir()) if folder.is_dir() else []:
        stem = path.name.removesuffix(".zip")
        number = re.fullmatch(re.escape(param) + r"(?:_(\d{3}))?", stem)
        if number and (path.is_dir() or path.suffix == ".zip"):
            runs.setdefault(int(number[1]) if number[1] else None, path)
    return runs


def parameter_folders(folder: Path) -> list[str]:
    """Names of the parameter files that a tracker's folder has results for."""
    if not folder.is_dir():
        return []
    stems = (path.name.removesuffix(".zip") for path in folder.iterdir() if path.is_dir() or path.suffix == ".zip")
    return sorted({re.sub(r"_\d{3}$", "", stem) for stem in stems})


def boxes_file(folder: str | Path, sequence_name: str) -> Path:
    """Path of a sequence's boxes."""
    return Path(folder) / f"{sequence_name}.txt"


def times_file(folder: str | Path, sequence_name: str) -> Path:
    """Path of a sequence's times, in seconds per frame."""
    return Path(folder) / f"{sequence_name}_time.txt"


def scores_file(folder: str | Path, sequence_name: str) -> Path:
    """Path of the tracker's own scores, if it has any."""
    return Path(folder) / f"{sequence_name}_object_presence_scores.txt"


def peak_memory_file(folder: str | Path, sequence_name: str) -> Path:
    """Path of the peak memory of the run on a sequence."""
    return Path(folder) / "memory" / f"{sequence_name}.txt"


FILES = (boxes_file, times_file, scores_file, peak_memory_file)


def result_names(folder: str | Path) -> list[str]:
    """Names of the sequences that a folder has boxes for."""
    stems = sorted(path.stem for path in Path(folder).glob("*.txt") if not path.name.startswith("."))
    return [stem for stem in stems if not stem.endswith(("_time", "_object_presence_scores"))]


def write_boxes(path: str | Path, boxes: np.ndarray) -> None:
    """Writes boxes (n, 4) atomically; raises a ResultFileError and writes nothing if one is not finite."""
    boxes = np.asarray(boxes, dtype=np.float64)
    if boxes.ndim != 2 or boxes.shape[1] != 4:
        raise ResultFileError(f"{path}: boxes must have shape (n, 4), got {boxes.shape}")
    bad = np.flatnonzero(~np.isfinite(boxes).all(axis=1))
    if bad.size:
        raise ResultFileError(f"{path}: the box of frame {bad[0] + 1} is {boxes[bad[0]].tolist()}, not finite numbers")
    write_text(path, "".join("\t".join(f"{value:.2f}" for value in box) + "\n" for box in boxes))


def read_boxes(path: str | Path, data: bytes | None = None) -> np.ndarray:
    """Reads boxes as float64 (n, 4); a ResultFileError names the file and the invalid line.

    ``data`` is the file's content if it has already been read, for instance from a zip; also in the other readers.
    """
    boxes = _read_table(path, data, columns=4)
    negative = np.flatnonzero((boxes[:, 2:] < 0).any(axis=1))
    if negative.size:
        raise ResultFileError(f"{path}, line {negative[0] + 1}: negative size: {boxes[negative[0]].tolist()}")
    return boxes


def write_times(path: str | Path, times: np.ndarray) -> None:
    """Writes the seconds spent on each frame atomically."""
    write_text(path, "".join(f"{value:.6f}\n" for value in np.asarray(times, dtype=np.float64)))


def read_times(path: str | Path, data: bytes | None = None) -> np.ndarray:
    """Reads the seconds per frame as float64 (n,)."""
    return _read_table(path, data, columns=1)[:, 0]


def write_scores(path: str | Path, scores: np.ndarray) -> None:
    """Writes one score per frame atomically; NaN where the tracker gave none."""
    write_text(path, "".join(f"{value:.6g}\n" for value in np.asarray(scores, dtype=np.float64)))


def read_scores(path: str | Path, data: bytes | None = None) -> np.ndarray:
    """Reads scores as float64 (n,); NaN where the tracker gave none."""
    return _read_table(path, data, columns=1, finite=False)[:, 0]


def write_peak_memory(path: str | Path, mib: float) -> None:
    """Writes the peak memory in MiB atomically."""
    write_text(path, f"{mib:.1f}\n")


def read_peak_memory(path: str | Path) -> float:
    """Reads the peak memory in MiB."""
    return float(_read_table(path, None, columns=1)[0, 0])


def is_complete(folder: str | Path, sequence_name: str, frames: int) -> bool:
    """Whether a sequence has readable boxes and, if there are any, times of the right length.

    Boxes are moved into place last, so their presence means that the other files are complete. Times are optional
    because published results lack them.
    """
    try:
        if len(read_boxes(boxes_file(folder, sequence_name))) != frames:
            return False
        times = times_file(folder, sequence_name)
        return not times.exists() or len(read_times(times)) == frames
    except ResultFileError:
        return False


def check_length(rows: np.ndarray, source: str | Path, frames: int) -> np.ndarray:
    """Returns the rows of a result file if there is one per frame; raises ResultFileError otherwise."""
    if len(rows) != frames:
        raise ResultFileError(f"{source}: {len(rows)} rows for {frames} frames")
    return rows


def _read_table(path: str | Path, data: bytes | None, columns: int, finite: bool = True) -> np.ndarray:
    try:
        content = Path(path).read_bytes() if data is None else data
        table = parse_table(content, path, columns, blank_lines=False)
    except OSError as error:
        raise ResultFileError(f"{path}: {error.strerror or error}") from error
    except NumberFileError as error:
        raise ResultFileError(str(error)) from None
    bad = np.flatnonzero(~np.isfinite(table).all(axis=1)) if finite else np.empty(0, int)
    if bad.size:
        raise ResultFileError(f"{path}, line {bad[0] + 1}: not finite: {table[bad[0]].tolist()}")
    return table
