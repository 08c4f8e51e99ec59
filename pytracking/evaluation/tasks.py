"""Tracks one sequence with one tracker and stores the result, in the main process or in a worker."""
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pytracking.evaluation.origin import has_matching_result
from pytracking.evaluation.result_folder import store_result
from pytracking.evaluation.results import boxes_file
from pytracking.evaluation.sequence import Sequence
from pytracking.evaluation.tracker import Tracker
from pytracking.utils.peak_memory import peak_memory_mib, reset_peak_memory


@dataclass
class Task:
    """One sequence to track with one tracker."""

    tracker: Tracker
    sequence: Sequence
    settings: str  # digest of the settings in the result folder's record
    rerun: bool = False  # replace an existing result


@dataclass
class Outcome:
    """How a task ended."""

    task: Task
    seconds: float = 0.0  # spent in the tracker
    error: str | None = None  # the traceback, if it failed
    kept: bool = False  # another run has already stored the result


class TaskRunner:
    """Runs tasks one after another and keeps the last tracker's network loaded."""

    def __init__(self) -> None:
        self._tracker = None
        self._key: tuple | None = None

    def run(self, task: Task, progress: Callable[[int], None] | None = None) -> Outcome:
        """Tracks the sequence and stores the result, unless another run in the same folder already has."""
        folder, sequence = task.tracker.results_dir, task.sequence
        try:
            if task.rerun:
                boxes_file(folder, sequence.name).unlink(missing_ok=True)  # a failed rerun must not look complete
            elif has_matching_result(folder, sequence, task.settings):
                return Outcome(task, kept=True)
            reset_peak_memory()
            output = task.tracker.run_sequence(sequence, tracker=self.tracker_for(task), progress=progress)
            memory = peak_memory_mib()
            stored = store_result(folder, sequence, task.settings, output, memory, replace=task.rerun)
        except Exception:
            self._key = self._tracker = None  # its state is unknown now
            return Outcome(task, error=traceback.format_exc())
        return Outcome(task, seconds=float(output.times.sum()), kept=not stored)

    def tracker_for(self, task: Task) -> Any:
        """Returns the task's tracker, reusing the last one if nothing has changed."""
        key = (task.tracker.name, task.tracker.parameter_name, task.tracker.network, repr(task.tracker.overrides))
        if key != self._key:
            self._tracker = None  # frees the old network first
            self._tracker = task.tracker.create_tracker()
            self._key = key
        return self._tracker
