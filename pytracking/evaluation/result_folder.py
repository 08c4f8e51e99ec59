"""Lets runs share a result folder, and keeps results with different settings or data apart.

``run.json`` describes the whole folder, so all its results have the same settings. Any number of runs with these
settings may fill it at once, on this machine or on others that share the disk: each result is written as a whole under
the folder's lock, and the first complete one is kept. A run with other settings is refused; only ``overwrite`` moves
the old results to ``replaced/``, and only while no other run is active. Nothing is deleted.
"""
from __future__ import annotations

import os
import shutil
import warnings
from collections.abc import Iterable
from datetime import datetime, timezone
from pathlib import Path
from typing import IO, Any

from pytracking.evaluation import results, run_record
from pytracking.evaluation.origin import has_matching_result, mismatch, origin_file, write_origin
from pytracking.evaluation.run_record import RECORD_NAME, ChangedRunError, write_record
from pytracking.evaluation.sequence import Sequence
from pytracking.evaluation.tracker import Tracker
from pytracking.evaluation.tracking import SequenceOutput
from pytracking.utils.files import HAS_LOCKS, lock, locked, open_lock, remove_stale_temporaries
from pytracking.utils.names import shortened


class FolderRun:
    """One run in a result folder; use as a context manager.

    Entering it raises a ChangedRunError if the folder has results with other settings, or results for ``sequences``
    with other data or without a record of their origin; with ``overwrite`` these are moved away instead.
    """

    def __init__(self, tracker: Tracker, sequences: Iterable[Sequence], *, overwrite: bool = False) -> None:
        self.folder = tracker.results_dir
        self.notes: list[str] = []  # what was moved away
        self._record = run_record.run_record(tracker)
        self.settings = run_record.settings_digest(self._record)
        self._sequences, self._overwrite = list(sequences), overwrite
        self._running: IO[bytes] | None = None

    def __enter__(self) -> FolderRun:
        self._running = open_lock(self.folder / "origin" / "running.lock")
        try:
            with folder_lock(self.folder):
                lock(self._running, exclusive=False)  # held until the end, to show that the folder is in use
                self._begin()
        except BaseException:
            self._running.close()
            raise
        return self

    def __exit__(self, error: type | None, *_: object) -> None:
        with self._running, folder_lock(self.folder):
            record = run_record.read_record(self.folder)
            if record is not None and error is None:  # an interrupted run gets no end time
                try:
                    write_record(self.folder, {**record, "end": run_record.now()})
                except OSError as problem:
                    warnings.warn(f"the results are complete, but the end time could not be recorded: {problem}",
                                  stacklevel=2)

    def _begin(self) -> None:
        if HAS_LOCKS and lock(self._running, exclusive=True, wait=False):  # no other run is active
            remove_stale_temporaries(self.folder)
        lock(self._running, exclusive=False)
        before, names = run_record.read_record(self.folder), results.result_names(self.folder)
        problems = run_record.changes(before, self._record) if before is not None else []
        if before is None and names:
            problems = [f"there is no readable {RECORD_NAME}, so their settings are unknown"]
        if problems:
            self._replace(names, problems, whole_folder=True)
        elif before is not None:
            self._record["start"] = before.get("start", self._record["start"])
        remaining = set(results.result_names(self.folder))
        present = [sequence for sequence in self._sequences if sequence.name in remaining]
        mismatches = {sequence.name: mismatch(self.folder, sequence, self.settings) for sequence in present}
        mismatches = {name: reason for name, reason in mismatches.items() if reason is not None}
        if mismatches:
            self._replace(list(mismatches), list(mismatches.values()), whole_folder=False)
        write_record(self.folder, self._record)

    def _replace(self, names: list[str], problems: list[str], *, whole_folder: bool) -> None:
        listed = ", ".join(shortened(sorted(names)))
        if names and not self._overwrite:
            others = set(names) - {sequence.name for sequence in self._sequences}
            raise ChangedRunError(
                f"the results in {self.folder} were not made by this run:\n  "
                + "\n  ".join(shortened(problems))
                + f"\nNothing was changed. Affected: {listed} ({len(names)} in total"
                + (f", {len(others)} for sequences that this run does not compute)." if others else ").")
                + "\nUse --run-id N or another --results-path to write elsewhere, or --overwrite to move them to the\n"
                + "subfolder 'replaced'."
            )
        if whole_folder and not lock(self._running, exclusive=True, wait=False):
            raise ChangedRunError(
                f"another run with other settings is using {self.folder}:\n  "
                + "\n  ".join(shortened(problems))
                + "\nWait until it ends, or use --run-id N to write elsewhere."
            )
        if names:
            target = move_away(self.folder, names)
            self.notes.append(f"moved to {target}: {listed} ({len(names)} in total)")
        lock(self._running, exclusive=False)


def folder_lock(folder: Path) -> Any:
    """A lock to hold while a result folder is changed; it is released even if its owner is killed."""
    return locked(folder / "origin" / "folder.lock")


def store_result(
    folder: Path, sequence: Sequence, settings: str, output: SequenceOutput, peak_mib: float, *, replace: bool
) -> bool:
    """Writes the files of a result, boxes last: their presence means that the result is complete.

    Without ``replace``, returns False and writes nothing if another run has stored this result in the meantime. Raises
    ChangedRunError if the settings of the folder, or the origin of the result in it, have changed.
    """
    name = sequence.name
    with folder_lock(folder):
        _check_still_ours(folder, sequence, settings)
        if not replace and has_matching_result(folder, sequence, settings):
            return False
        results.boxes_file(folder, name).unlink(missing_ok=True)
        results.scores_file(folder, name).unlink(missing_ok=True)
        results.write_peak_memory(results.peak_memory_file(folder, name), peak_mib)
        results.write_times(results.times_file(folder, name), output.times)
        if output.scores is not None:
            results.write_scores(results.scores_file(folder, name), output.scores)
        write_origin(folder, sequence, settings, output.computing)
        results.write_boxes(results.boxes_file(folder, name), output.boxes)
    return True


def _check_still_ours(folder: Path, sequence: Sequence, settings: str) -> None:
    record = run_record.read_record(folder)
    if record is None or run_record.settings_digest(record) != settings:
        raise ChangedRunError(f"{folder} no longer belongs to this run: {RECORD_NAME} is gone or has other settings")
    if results.boxes_file(folder, sequence.name).exists():
        reason = mismatch(folder, sequence, settings)
        if reason is not None:
            raise ChangedRunError(f"another run has stored a result in {folder} in the meantime. {reason}")


def move_away(folder: Path, names: Iterable[str]) -> Path:
    """Moves results to a new subfolder, with a copy of the record that describes them; returns the subfolder."""
    stamp, count = datetime.now(timezone.utc).strftime("%Y-%m-%d_%H%M%S"), 0
    while (target := folder / "replaced" / f"{stamp}_{count:02d}").exists():
        count += 1
    target.mkdir(parents=True)
    if (folder / RECORD_NAME).exists():
        shutil.copy2(folder / RECORD_NAME, target / RECORD_NAME)
    for name in names:
        for file in (*results.FILES, origin_file):
            if (source := file(folder, name)).exists():
                file(target, name).parent.mkdir(parents=True, exist_ok=True)
                os.replace(source, file(target, name))
    return target
