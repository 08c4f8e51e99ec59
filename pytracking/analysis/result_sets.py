"""Maps table rows to result files: trackers, their runs, and the files of each run.

A run is a folder ``<results>/<tracker>/<param>[_%03d]`` or a zip of one, as published by pytracking.
"""
import re
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from ltr.errors import UserError
from pytracking.evaluation import results
from pytracking.evaluation.sequence import Sequence
from pytracking.evaluation.tracker import Tracker
from pytracking.utils.names import unknown_name_message

# A tracker, [NAME=]tracker/param[@network], optionally with runs: #0, #0-4, #0,2 or #all.
SPEC = re.compile(
    r"(?:(?P<name>[^=]+)=)?(?P<tracker>[^/:=@#\s]+)(?:[/:]|\s+)(?P<param>[^/:=@#\s]+(?:@[^/:=#]+)?)"
    r"(?:[:#](?P<runs>[\d,\-]+|all))?"
)


@dataclass(frozen=True)
class Run:
    """Files of one run, in a folder or a zip."""

    path: Path

    @cached_property
    def _members(self) -> dict[str, str]:
        """Maps file names to their full names in the zip, in whatever folder they are."""
        with zipfile.ZipFile(self.path) as archive:
            return {Path(name).name: name for name in archive.namelist() if name.endswith(".txt")}

    def has(self, sequence_name: str) -> bool:
        """Whether the run has a result for a sequence."""
        if self.path.suffix == ".zip":
            return self.source(sequence_name).name in self._members
        return self.source(sequence_name).exists()

    def read(self, file_name: str) -> bytes | None:
        """Returns the content of a file; None if the run does not have it."""
        if self.path.suffix == ".zip":
            if file_name not in self._members:
                return None
            with zipfile.ZipFile(self.path) as archive:
                return archive.read(self._members[file_name])
        try:
            return (self.path / file_name).read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise results.ResultFileError(f"{self.path / file_name}: {error.strerror or error}") from error

    def boxes(self, sequence_name: str) -> bytes | None:
        return self.read(results.boxes_file(self.path, sequence_name).name)

    def checked_boxes(self, sequence: Sequence) -> np.ndarray:
        """Returns boxes (n, 4), one per frame; ResultFileError if the file is missing or has another length."""
        source, data = self.source(sequence.name), self.boxes(sequence.name)
        if data is None:
            raise results.ResultFileError(f"{source}: no such file")
        return results.check_length(results.read_boxes(source, data), source, len(sequence))

    def times(self, sequence_name: str) -> bytes | None:
        return self.read(results.times_file(self.path, sequence_name).name)

    def scores(self, sequence_name: str) -> bytes | None:
        return self.read(results.scores_file(self.path, sequence_name).name)

    def source(self, sequence_name: str) -> Path:
        """Returns the path by which messages name a sequence's result file."""
        return results.boxes_file(self.path, sequence_name)


@dataclass(frozen=True)
class ResultSet:
    """One row of a table: a tracker and all its runs."""

    name: str
    runs: tuple[Run, ...]

    def __post_init__(self) -> None:
        if not self.runs:
            raise UserError(f"result set '{self.name}' has no runs")


def as_result_sets(trackers: Iterable[Tracker | ResultSet], *, merge: bool = True) -> list[ResultSet]:
    """Groups runs into rows by display name; without ``merge`` each run gets its own row."""
    rows: dict[str, list[Run]] = {}
    for tracker in trackers:
        if isinstance(tracker, ResultSet):
            found = [(tracker.name, run) for run in tracker.runs]
        else:
            found = [(tracker.display_name, Run(tracker.results_dir))]
        for name, run in found:
            label = name if merge else _run_name(name, run.path)
            rows.setdefault(label, []).append(run)
    return [ResultSet(name, tuple(runs)) for name, runs in rows.items()]


def find_results(spec: str, results_path: Path) -> ResultSet:
    """Finds results on disk by ``[NAME=]tracker/param[@network][#RUNS]``; a FileNotFoundError lists the alternatives.

    RUNS is ``all`` (the default: every numbered run, or the unnumbered one), or numbers like ``0-4`` or ``0,2``.
    """
    match = SPEC.fullmatch(spec)
    if match is None:
        raise UserError(
            f"'{spec}': expected [NAME=]TRACKER/PARAMETERS[@NETWORK][#RUNS], e.g. dimp/dimp50#0-4 or Ours=dimp/dimp50"
        )
    folder, param = results_path / match["tracker"], match["param"]
    runs = results.list_runs(folder, param)
    if not runs:
        fallback = sorted({other for other in results.parameter_folders(folder) if other.startswith(f"{param}@")})
        if len(fallback) != 1:
            raise FileNotFoundError(_not_found(spec, folder, param))
        param, runs = fallback[0], results.list_runs(folder, fallback[0])
    wanted = _run_numbers(match["runs"])
    if wanted is not None:
        missing = [number for number in wanted if number not in runs]
        if missing:
            existing = ", ".join(str(number) for number in runs if number is not None) or "only one without a number"
            raise FileNotFoundError(f"'{spec}': no run {missing[0]} in {folder}; there is: {existing}")
        runs = {number: runs[number] for number in wanted}
    elif len(runs) > 1:
        runs.pop(None, None)
    return ResultSet(match["name"] or f"{match['tracker']}/{param}", tuple(Run(path) for path in runs.values()))


def find_all_results(specs: list[str], results_path: Path) -> list[ResultSet]:
    """Finds the results of several specs; two selections of one tracker's runs stay two rows, named by their specs."""
    found = [find_results(spec, results_path) for spec in specs]
    names = [row.name for row in found]
    unnamed = [SPEC.fullmatch(spec)["name"] is None for spec in specs]
    return [
        replace(row, name=spec) if plain and names.count(row.name) > 1 else row
        for spec, row, plain in zip(specs, found, unnamed, strict=True)
    ]


def row_called(name: str, rows: list[ResultSet], by_spec: dict[str, ResultSet]) -> str:
    """Returns the name of the row that the user means, given by its name in the table or by a spec.

    ``by_spec`` maps specs to their results. A UserError lists the rows if none or several match.
    """
    if name in [row.name for row in rows]:
        return name
    spec = SPEC.fullmatch(name)
    meant = {row.runs for text, row in by_spec.items() if text == name or row.name == name}
    if not meant and spec is not None:
        wanted = (spec["tracker"], spec["param"])
        meant = {row.runs for text, row in by_spec.items() if SPEC.fullmatch(text).group("tracker", "param") == wanted}
    found = [row.name for row in rows if any(set(runs) & set(row.runs) for runs in meant)]
    if len(found) > 1:
        raise UserError(f"'{name}' means {len(found)} rows; write one of: {', '.join(found)}")
    if not found:
        raise UserError(unknown_name_message("row called", name, [row.name for row in rows]))
    return found[0]


def _run_numbers(text: str | None) -> list[int] | None:
    if text is None or text == "all":
        return None
    numbers: list[int] = []
    for part in text.split(","):
        ends = part.split("-")
        if len(ends) > 2 or not all(end.isdecimal() for end in ends):
            raise UserError(f"runs '{text}': expected numbers like 0-4 or 0,2")
        numbers += range(int(ends[0]), int(ends[-1]) + 1)
    return numbers


def _run_name(name: str, path: Path) -> str:
    number = re.search(r"_(\d{3})$", path.name.removesuffix(".zip"))
    return f"{name} {number[1]}" if number else name


def _not_found(spec: str, folder: Path, param: str) -> str:
    if not folder.is_dir():
        root = folder.parent
        there = sorted(path.name for path in root.iterdir() if path.is_dir()) if root.is_dir() else []
        return f"'{spec}': " + unknown_name_message(f"folder in {root} called", folder.name, there)
    return f"'{spec}': " + unknown_name_message(f"result in {folder} called", param, results.parameter_folders(folder))
