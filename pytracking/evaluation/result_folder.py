"""A result folder and the runs that fill it, one after the other or at once.

``run.json`` describes the whole folder, so all results of it have the same settings. Any number of runs with these
settings may work in it at once, on this machine or on others that share the disk: each result is written as a whole
under the folder's lock, and the first that is complete stays. A run with other settings is refused; only ``overwrite``,
while nobody else runs there, moves the old results to ``replaced/``. Nothing is deleted.
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
from pytracking.evaluation.origin import is_this_runs, objection, origin_file, write_origin
from pytracking.evaluation.run_record import RECORD_NAME, ChangedRunError, write_record
from pytracking.evaluation.sequence import Sequence
from pytracking.evaluation.tracker import Tracker
from pytracking.evaluation.tracking import SequenceOutput
from pytracking.utils.files import HAS_LOCKS, lock, locked, open_lock, remove_stale_temporaries
from pytracking.utils.names import shortened


class FolderRun:
    """One run in a result folder; use as a context manager.

    Entering it raises a ChangedRunError if results in the folder are of other settings, if those of ``sequences`` are
    of other data, or if nothing says what they are of; with ``overwrite`` these are moved away instead.
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
                lock(self._running, exclusive=False)  # held until the end: others see that the folder is in use
                self._begin()
        except BaseException:
            self._running.close()
            raise
        return self

    def __exit__(self, error: type | None, *_: object) -> None:
        with self._running, folder_lock(self.folder):
            record = run_record.read_record(self.folder)
            if record is not None and error is None:  # an interrupted run has no end
                try:
                    write_record(self.folder, {**record, "end": run_record.now()})
                except OSError as problem:
                    warnings.warn(f"the results are complete, but the end of the run is not on record: {problem}",
                                  stacklevel=2)

    def _begin(self) -> None:
        if HAS_LOCKS and lock(self._running, exclusive=True, wait=False):  # nobody else is at work here
            remove_stale_temporaries(self.folder)
        lock(self._running, exclusive=False)
        before, names = run_record.read_record(self.folder), results.result_names(self.folder)
        problems = run_record.changes(before, self._record) if before is not None else []
        if before is None and names:
            problems = [f"they have no {RECORD_NAME} that can be read, so what made them is unknown"]
        if problems:
            self._replace(names, problems, whole_folder=True)
        elif before is not None:
            self._record["start"] = before.get("start", self._record["start"])
        ours = [sequence for sequence in self._sequences if sequence.name in set(results.result_names(self.folder))]
        objections = {each.name: objection(self.folder, each, self.settings) for each in ours}
        objections = {name: reason for name, reason in objections.items() if reason is not None}
        if objections:
            self._replace(list(objections), list(objections.values()), whole_folder=False)
        write_record(self.folder, self._record)

    def _replace(self, names: list[str], problems: list[str], *, whole_folder: bool) -> None:
        listed = ", ".join(shortened(sorted(names)))
        if names and not self._overwrite:
            others = set(names) - {sequence.name for sequence in self._sequences}
            raise ChangedRunError(
                f"the results in {self.folder} are not this run's:\n  "
                + "\n  ".join(shortened(problems))
                + f"\nNothing was changed. Concerned: {listed} ({len(names)} in all"
                + (f", {len(others)} of sequences that this run does not compute)." if others else ").")
                + "\nGive --runid N or another --results_path to write elsewhere, or --overwrite to move them to the\n"
                + "folder's subfolder 'replaced'."
            )
        if whole_folder and not lock(self._running, exclusive=True, wait=False):
            raise ChangedRunError(
                f"another run is at work in {self.folder}, with other settings:\n  "
                + "\n  ".join(shortened(problems))
                + "\nWait for its end, or give --runid N to write elsewhere."
            )
        if names:
            target = move_away(self.folder, names)
            self.notes.append(f"moved to {target}: {listed} ({len(names)} in all)")
        lock(self._running, exclusive=False)


def folder_lock(folder: Path) -> Any:
    """Held for the moments in which a result folder changes; its owner may die at any time."""
    return locked(folder / "origin" / "folder.lock")


def store_result(
    folder: Path, sequence: Sequence, settings: str, output: SequenceOutput, peak_mib: float, *, replace: bool
) -> bool:
    """Writes the files of a result, boxes last: their presence means that the result is complete.

    Returns False, with nothing written, if another run has stored this result in the meantime, unless ``replace`` is
    given; ChangedRunError if the folder, or the result in it, has become another run's.
    """
    name = sequence.name
    with folder_lock(folder):
        _check_still_ours(folder, sequence, settings)
        if not replace and is_this_runs(folder, sequence, settings):
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
        raise ChangedRunError(f"{folder} is not this run's any more: its {RECORD_NAME} is gone, or of other settings")
    if results.boxes_file(folder, sequence.name).exists():
        reason = objection(folder, sequence, settings)
        if reason is not None:
            raise ChangedRunError(f"another run has stored a result in {folder} meanwhile. {reason}")


def move_away(folder: Path, names: Iterable[str]) -> Path:
    """Moves results, with a copy of the record that describes them, to a new subfolder; returns it."""
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
