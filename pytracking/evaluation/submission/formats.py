"""The formats themselves: TrackingNet, GOT-10k, OxUvA, LaSOT.

Each format turns results into text files, and reads such files back to check them as the benchmark would: all
sequences, the right number of rows, finite boxes.
"""
from __future__ import annotations

import csv
import io
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from pytracking.evaluation.sequence import Sequence
from pytracking.evaluation.submission.archive import SubmissionError, read_files, remove, write_files
from pytracking.evaluation.submission.collect import SequenceResult, collect

Files = dict[str, str]
GOT10K_REPETITIONS = 3  # what its server takes
OXUVA_HEADER = ("video", "object", "frame_num", "present", "score", "xmin", "xmax", "ymin", "ymax")


@dataclass(frozen=True)
class SubmissionFormat:
    """The form in which a benchmark takes results."""

    suffix: str  # of the default output
    datasets: tuple[str, ...]
    make: Callable[..., Files]
    check: Callable[[Files, list[Sequence], int], None]
    most_runs: int = 1
    need_times: bool = False
    upload: str = ""  # where it goes


@dataclass(frozen=True)
class Submission:
    """A submission that was written and passed its check."""

    path: Path
    files: int
    sequences: int
    runs: int


def pack(
    benchmark: str,
    runs: list[Path],
    sequences: list[Sequence],
    output: Path,
    *,
    presence_threshold: float | None = None,
) -> Submission:
    """Writes a submission and validates what was written; one that fails its check is removed.

    Args:
        runs: result folders; GOT-10k takes up to three repetitions, the others one.
        presence_threshold: OxUvA: the target is present where the tracker's score is at least this; None: always.
    """
    if benchmark not in FORMATS:
        raise SubmissionError(f"no submission format '{benchmark}'; there are: {', '.join(FORMATS)}")
    kind = FORMATS[benchmark]
    if not 1 <= len(runs) <= kind.most_runs:
        raise SubmissionError(f"{benchmark}: {len(runs)} runs given, takes 1 to {kind.most_runs}; choose with :RUNS")
    if kind.suffix == ".zip" and output.suffix != ".zip":
        raise SubmissionError(f"{benchmark}: the submission is a zip, but --output is '{output}'")
    results = [collect(run, sequences, need_times=kind.need_times) for run in runs]
    options = {"presence_threshold": presence_threshold} if benchmark == "oxuva" else {}
    files = kind.make(sequences, results, **options)
    write_files(output, files)
    try:
        written = read_files(output)
        kind.check(written, sequences, len(runs))
        if written != files:
            raise SubmissionError(f"{output}: what was read back differs from what was written; is the disk full?")
    except SubmissionError:
        remove(output)
        raise
    return Submission(output, len(files), len(sequences), len(runs))


def _make_plain(style: str, sequences: list[Sequence], results: list[dict[str, SequenceResult]]) -> Files:
    return {f"{s.name}.txt": _rows(results[0][s.name].boxes, style) for s in sequences}


def _check_plain(files: Files, sequences: list[Sequence], runs: int) -> None:
    expected = {f"{sequence.name}.txt": sequence for sequence in sequences}
    _same_names(files, expected)
    for name, sequence in expected.items():
        _check_boxes(name, files[name], len(sequence))


def _make_got10k(sequences: list[Sequence], results: list[dict[str, SequenceResult]]) -> Files:
    files = {}
    for sequence in sequences:
        name = sequence.name
        for number, run in enumerate(results, start=1):
            files[f"{name}/{name}_{number:03d}.txt"] = _rows(run[name].boxes, "%.3f")
        files[f"{name}/{name}_time.txt"] = _rows(np.stack([run[name].times for run in results], axis=1), "%.8f")
    return files


def _check_got10k(files: Files, sequences: list[Sequence], runs: int) -> None:
    expected = {}
    for sequence in sequences:
        for number in range(1, runs + 1):
            expected[f"{sequence.name}/{sequence.name}_{number:03d}.txt"] = sequence
        expected[f"{sequence.name}/{sequence.name}_time.txt"] = sequence
    _same_names(files, expected)
    for name, sequence in expected.items():
        if name.endswith("_time.txt"):
            times = _numbers(name, files[name], runs, len(sequence))
            if (times <= 0).all():
                raise SubmissionError(f"{name}: no time is positive, the speed could not be computed")
        else:
            _check_boxes(name, files[name], len(sequence))


def _make_oxuva(
    sequences: list[Sequence], results: list[dict[str, SequenceResult]], presence_threshold: float | None = None
) -> Files:
    files = {}
    for sequence in sequences:
        result, facts = results[0][sequence.name], sequence.attributes
        width, height = facts["image_size"]
        corners = np.concatenate([result.boxes[:, :2], result.boxes[:, :2] + result.boxes[:, 2:]], axis=1)
        relative = np.clip(corners / [width, height, width, height], 0.0, 1.0)  # xmin, ymin, xmax, ymax
        present = _presence(sequence, result, presence_threshold)
        scores = np.ones(len(result.boxes)) if result.scores is None else np.nan_to_num(result.scores, nan=1.0)
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(OXUVA_HEADER)
        for frame in range(1, len(result.boxes)):  # the first frame is given
            xmin, ymin, xmax, ymax = relative[frame]
            box = (f"{value:.6f}" for value in (xmin, xmax, ymin, ymax))
            said = "true" if present[frame] else "false"
            row = [facts["video"], facts["object"], facts["first_frame"] + frame, said, f"{scores[frame]:.6g}", *box]
            writer.writerow(row)
        files[f"{facts['video']}_{facts['object']}.csv"] = stream.getvalue()
    return files


def _presence(sequence: Sequence, result: SequenceResult, threshold: float | None) -> np.ndarray:
    if threshold is None:
        return np.ones(len(result.boxes), bool)
    if result.scores is None:
        raise SubmissionError(f"{sequence.name}: no scores beside the boxes, which a threshold of presence needs")
    return np.nan_to_num(result.scores, nan=np.inf) >= threshold


def _check_oxuva(files: Files, sequences: list[Sequence], runs: int) -> None:
    expected = {f"{s.attributes['video']}_{s.attributes['object']}.csv": s for s in sequences}
    _same_names(files, expected)
    for name, sequence in expected.items():
        rows = list(csv.reader(io.StringIO(files[name])))
        if tuple(rows[0]) != OXUVA_HEADER:
            raise SubmissionError(f"{name}: header {rows[0]}, expected {list(OXUVA_HEADER)}")
        first = sequence.attributes["first_frame"]
        numbers = [int(row[2]) for row in rows[1:]]
        if numbers != list(range(first + 1, first + len(sequence))):
            raise SubmissionError(f"{name}: frames must be {first + 1} ... {first + len(sequence) - 1}, without gaps")
        if any(row[3] not in ("true", "false") for row in rows[1:]):
            raise SubmissionError(f"{name}: 'present' must be true or false")
        values = np.array([[float(value) for value in row[4:]] for row in rows[1:]]).reshape(-1, 5)
        if not np.isfinite(values).all() or (values[:, 1:] < 0).any() or (values[:, 1:] > 1).any():
            raise SubmissionError(f"{name}: boxes must be finite and relative to the image, within [0, 1]")
        if (values[:, 2] < values[:, 1]).any() or (values[:, 4] < values[:, 3]).any():
            raise SubmissionError(f"{name}: a box whose maximum is below its minimum")


def _rows(table: np.ndarray, style: str) -> str:
    return "".join(",".join(style % value for value in row) + "\n" for row in table)


def _same_names(files: Files, expected: dict[str, Sequence]) -> None:
    missing, extra = sorted(set(expected) - set(files)), sorted(set(files) - set(expected))
    if missing or extra:
        raise SubmissionError(f"{len(missing)} files missing {missing[:3]}, {len(extra)} too many {extra[:3]}")


def _check_boxes(name: str, text: str, frames: int) -> None:
    boxes = _numbers(name, text, 4, frames)
    if (boxes[:, 2:] < 0).any():
        raise SubmissionError(f"{name}, line {int(np.argmax((boxes[:, 2:] < 0).any(axis=1))) + 1}: negative size")


def _numbers(name: str, text: str, columns: int, frames: int) -> np.ndarray:
    lines = text.splitlines()
    if len(lines) != frames:
        raise SubmissionError(f"{name}: {len(lines)} rows for {frames} frames")
    table = np.empty((frames, columns))
    for number, line in enumerate(lines, start=1):
        try:
            table[number - 1] = [float(word) for word in line.split(",")]
        except ValueError:
            raise SubmissionError(f"{name}, line {number}: expected {columns} numbers, found {line!r}") from None
        if not np.isfinite(table[number - 1]).all():
            raise SubmissionError(f"{name}, line {number}: not finite: {line!r}")
    return table


FORMATS: dict[str, SubmissionFormat] = {
    "trackingnet": SubmissionFormat(
        ".zip", ("trackingnet",), partial(_make_plain, "%.2f"), _check_plain, upload="TrackingNet's evaluation server"
    ),
    "got10k": SubmissionFormat(
        ".zip",
        ("got10k_test", "got10k_val"),
        _make_got10k,
        _check_got10k,
        GOT10K_REPETITIONS,
        need_times=True,
        upload="GOT-10k's evaluation server",
    ),
    "oxuva": SubmissionFormat(
        "", ("oxuva_test", "oxuva_dev"), _make_oxuva, _check_oxuva, upload="OxUvA's challenge, or its own scripts"
    ),
    "lasot": SubmissionFormat(
        "_tracking_result", ("lasot",), partial(_make_plain, "%.4f"), _check_plain, upload="LaSOT's evaluation toolkit"
    ),
}
