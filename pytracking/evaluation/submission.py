"""Submissions to TrackingNet, GOT-10k, OxUvA and LaSOT: checks results, writes them as text files, validates these."""
import csv
import io
import os
import shutil
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from ltr.errors import UserError
from pytracking.evaluation import results
from pytracking.evaluation.sequence import Sequence
from pytracking.utils.files import replacing
from pytracking.utils.names import shortened

Files = dict[str, str]
OXUVA_HEADER = ("video", "object", "frame_num", "present", "score", "xmin", "xmax", "ymin", "ymax")


class SubmissionError(UserError):
    """A submission that the benchmark would refuse or score wrongly; the message says why."""


@dataclass(frozen=True)
class SubmissionFormat:
    """The format in which a benchmark takes results."""

    suffix: str  # of the default output
    datasets: tuple[str, ...]
    make: Callable[..., Files]
    upload: str  # where to upload it
    most_runs: int = 1  # repetitions that the server accepts
    need_times: bool = False


@dataclass(frozen=True)
class Submission:
    """A submission that was written and read back."""

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
    """Writes a submission and reads it back; if the two differ, it is removed.

    Args:
        runs: result folders; GOT-10k accepts up to three repetitions, the others one.
        presence_threshold: OxUvA only: the target is present if the tracker's score is at least this; None: always.
    """
    if benchmark not in FORMATS:
        raise SubmissionError(f"no submission format '{benchmark}'; there are: {', '.join(FORMATS)}")
    kind = FORMATS[benchmark]
    if not 1 <= len(runs) <= kind.most_runs:
        raise SubmissionError(f"{benchmark}: {len(runs)} runs given, 1 to {kind.most_runs} accepted; choose with #RUNS")
    if kind.suffix == ".zip" and output.suffix != ".zip":
        raise SubmissionError(f"{benchmark}: the submission is a zip, but --output is '{output}'")
    found = [collect(run, sequences, need_times=kind.need_times) for run in runs]
    options = {"presence_threshold": presence_threshold} if benchmark == "oxuva" else {}
    files = kind.make(sequences, found, **options)
    write_files(output, files)
    if read_files(output) != files:
        if output.is_dir():
            shutil.rmtree(output)
        else:
            output.unlink()
        raise SubmissionError(f"{output}: the content read back differs from what was written; is the disk full?")
    return Submission(output, len(files), len(sequences), len(runs))


@dataclass(frozen=True)
class SequenceResult:
    """One run on one sequence."""

    boxes: np.ndarray  # (n, 4)
    times: np.ndarray | None  # (n,)
    scores: np.ndarray | None  # (n,)


def collect(run: Path, sequences: list[Sequence], *, need_times: bool = False) -> dict[str, SequenceResult]:
    """Reads the result of every sequence, by name; a single error lists all problems."""
    found, problems = {}, []
    for sequence in sequences:
        try:
            found[sequence.name] = _read(run, sequence, need_times)
        except results.ResultFileError as error:
            problems.append(str(error))
    if problems:
        shown = "\n  ".join(shortened(problems))
        raise SubmissionError(f"{len(problems)} of {len(sequences)} sequences cannot be packed:\n  {shown}")
    return found


def _read(run: Path, sequence: Sequence, need_times: bool) -> SequenceResult:
    def checked(path: Path, read: Callable[[Path], np.ndarray], needed: bool) -> np.ndarray | None:
        return results.check_length(read(path), path, len(sequence)) if needed or path.exists() else None

    return SequenceResult(
        checked(results.boxes_file(run, sequence.name), results.read_boxes, True),
        checked(results.times_file(run, sequence.name), results.read_times, need_times),
        checked(results.scores_file(run, sequence.name), results.read_scores, False),
    )


def _make_plain(style: str, sequences: list[Sequence], runs: list[dict[str, SequenceResult]]) -> Files:
    return {f"{sequence.name}.txt": _rows(runs[0][sequence.name].boxes, style) for sequence in sequences}


def _make_got10k(sequences: list[Sequence], runs: list[dict[str, SequenceResult]]) -> Files:
    files = {}
    for sequence in sequences:
        name = sequence.name
        for number, run in enumerate(runs, start=1):
            files[f"{name}/{name}_{number:03d}.txt"] = _rows(run[name].boxes, "%.3f")
        times = np.stack([run[name].times for run in runs], axis=1)
        if (times <= 0).all():
            raise SubmissionError(f"{name}: no time is positive, so the server cannot compute a speed")
        files[f"{name}/{name}_time.txt"] = _rows(times, "%.8f")
    return files


def _make_oxuva(
    sequences: list[Sequence], runs: list[dict[str, SequenceResult]], presence_threshold: float | None = None
) -> Files:
    files = {}
    for sequence in sequences:
        result, facts = runs[0][sequence.name], sequence.attributes
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
            flag = "true" if present[frame] else "false"
            row = [facts["video"], facts["object"], facts["first_frame"] + frame, flag, f"{scores[frame]:.6g}", *box]
            writer.writerow(row)
        files[f"{facts['video']}_{facts['object']}.csv"] = stream.getvalue()
    return files


def _presence(sequence: Sequence, result: SequenceResult, threshold: float | None) -> np.ndarray:
    if threshold is None:
        return np.ones(len(result.boxes), bool)
    if result.scores is None:
        raise SubmissionError(f"{sequence.name}: no scores, which --presence-threshold needs")
    return np.nan_to_num(result.scores, nan=np.inf) >= threshold


def _rows(table: np.ndarray, style: str) -> str:
    return "".join(",".join(style % value for value in row) + "\n" for row in table)


def write_files(path: Path, files: dict[str, str]) -> None:
    """Writes texts by relative name to ``path``: a zip if it ends in .zip, otherwise a new folder."""
    if path.suffix == ".zip":
        with replacing(path) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, text in files.items():
                archive.writestr(name, text)
        return
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise SubmissionError(f"{path} already exists; remove it or choose another --output")
    building = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        for name, text in files.items():
            target = building / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
        if path.exists():
            path.rmdir()
        os.replace(building, path)
    finally:
        shutil.rmtree(building, ignore_errors=True)


def read_files(path: Path) -> dict[str, str]:
    """Reads texts by relative name from a zip or a folder."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            return {name: archive.read(name).decode("utf-8") for name in archive.namelist() if not name.endswith("/")}
    found = sorted(file for file in path.rglob("*") if file.is_file())
    return {file.relative_to(path).as_posix(): file.read_text(encoding="utf-8") for file in found}


FORMATS: dict[str, SubmissionFormat] = {
    "trackingnet": SubmissionFormat(
        ".zip", ("trackingnet",), partial(_make_plain, "%.2f"), "TrackingNet's evaluation server"
    ),
    "got10k": SubmissionFormat(
        ".zip", ("got10k_test", "got10k_val"), _make_got10k, "GOT-10k's evaluation server", 3, need_times=True
    ),
    "oxuva": SubmissionFormat("", ("oxuva_test", "oxuva_dev"), _make_oxuva, "OxUvA's challenge, or its own scripts"),
    "lasot": SubmissionFormat(
        "_tracking_result", ("lasot",), partial(_make_plain, "%.4f"), "LaSOT's evaluation toolkit"
    ),
}
