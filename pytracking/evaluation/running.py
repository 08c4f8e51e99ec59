"""Runs trackers on sequences: in parallel, resumable, with a list of failures."""
import functools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from ltr.errors import UserError
from pytracking.evaluation.origin import has_matching_result
from pytracking.evaluation.result_folder import FolderRun
from pytracking.evaluation.sequence import Sequence
from pytracking.evaluation.tasks import Outcome, Task, TaskRunner
from pytracking.evaluation.tracker import Tracker
from pytracking.evaluation.workers import WorkerPool
from pytracking.utils.files import ignores_case, write_text
from pytracking.utils.progress import progress_bar
from pytracking.utils.threads import threads_of_each


class Pool(Protocol):
    """Runs tasks, in processes on this machine or on a cluster."""

    def run(self, tasks: list[Task], progress: Callable[[Task, int], None]) -> Iterator[Outcome]:
        """Yields outcomes as tasks end; ``progress`` is called with each running task and its frames done."""


@dataclass
class Failure:
    """A sequence that could not be tracked."""

    tracker: Tracker
    sequence: Sequence
    message: str  # last line of the traceback
    log_file: Path | None  # None if it could not be written


@dataclass
class RunReport:
    """What :func:`run_dataset` did."""

    computed: int = 0  # sequences tracked now
    kept: int = 0  # sequences that already had a result
    notes: list[str] = field(default_factory=list)  # results that were moved away
    failures: list[Failure] = field(default_factory=list)

    def summary(self) -> str:
        """Returns a few lines to show at the end of a run."""
        counts = f"{self.computed} sequences tracked, {self.kept} kept from before, {len(self.failures)} failed"
        lines = [*self.notes, counts]
        for failure in self.failures:
            lines.append(f"  FAILED {failure.tracker.display_name} on {failure.sequence.name}: {failure.message}")
            if failure.log_file is not None:
                lines.append(f"         traceback in {failure.log_file}")
        return "\n".join(lines)


def run_dataset(
    dataset: Iterable[Sequence],
    trackers: Iterable[Tracker],
    debug: int = 0,
    threads: int = 0,
    visdom_info: dict[str, Any] | None = None,
    *,
    rerun: bool = False,
    overwrite: bool = False,
    overrides: dict[str, Any] | None = None,
    progress: bool = True,
    pool: Pool | None = None,
) -> RunReport:
    """Tracks every sequence with every tracker and writes the results.

    Complete results with the same settings and data are kept. The traceback of a failing sequence is logged, and the
    others continue. Several runs may fill one folder at once (:mod:`pytracking.evaluation.result_folder`).

    Args:
        threads: number of worker processes; 0 runs in this process.
        visdom_info: ignored; accepted for calls written for pytracking.
        rerun: compute existing results again; their settings must be the same.
        overwrite: move results with other settings or other data to the subfolder ``replaced`` instead of raising a
            ChangedRunError.
        overrides: parameters to change for every tracker.
        pool: runs the tasks in place of ``threads`` local processes, for instance on a cluster.
    """
    if threads < 0:
        raise UserError(f"threads must be 0 or more, not {threads}")
    sequences = [one for sequence in dataset for one in sequence.by_object()]
    overrides = {**(overrides or {}), **({"debug": debug} if debug else {})}
    trackers = [tracker.with_overrides(overrides) for tracker in trackers]
    _check_unique_names(sequences, trackers)
    report, tasks = RunReport(), []
    with ExitStack() as folders:
        for tracker in trackers:
            run = folders.enter_context(FolderRun(tracker, sequences, overwrite=overwrite))
            report.notes += run.notes
            waiting = [each for each in sequences if rerun or not has_matching_result(run.folder, each, run.settings)]
            report.kept += len(sequences) - len(waiting)
            tasks += [Task(tracker, sequence, run.settings, rerun) for sequence in waiting]
        if threads or pool is not None:
            tasks.sort(key=lambda task: -len(task.sequence))  # so that the workers end at about the same time
        with closing(_Progress(tasks, len(sequences) * len(trackers), report.kept, progress)) as bar:
            running = outcomes_of(tasks, threads, bar.frames) if pool is None else pool.run(tasks, bar.frames)
            with closing(running) as outcomes:  # an interrupt here ends the workers at once
                for outcome in outcomes:
                    _note(outcome, report)
                    bar.finished(outcome)
    return report


def run_sequence(
    seq: Sequence, tracker: Tracker, debug: int = 0, visdom_info: dict[str, Any] | None = None
) -> RunReport:
    """:func:`run_dataset` for one sequence and one tracker."""
    return run_dataset([seq], [tracker], debug, visdom_info=visdom_info)


def outcomes_of(
    tasks: list[Any], workers: int, progress: Callable[[Any, int], None], runner_class: type = TaskRunner
) -> Iterator[Outcome]:
    """Runs tasks and yields their outcomes as they end; 0 workers: in this process."""
    if workers == 0 or not tasks:
        runner = runner_class()
        yield from (runner.run(task, functools.partial(progress, task)) for task in tasks)
        return
    workers = min(workers, len(tasks))
    with WorkerPool(workers, threads_of_each(workers), runner_class) as pool:
        yield from pool.run(tasks, progress)


def _note(outcome: Outcome, report: RunReport) -> None:
    task = outcome.task
    log_file = task.tracker.results_dir / "logs" / f"{task.sequence.name}.log"
    if outcome.error is None:
        with suppress(OSError):
            log_file.unlink(missing_ok=True)
        report.computed += not outcome.kept
        report.kept += outcome.kept
    else:
        message = outcome.error.strip().splitlines()[-1]
        try:
            write_text(log_file, outcome.error)
        except OSError as error:  # such as a full disk, which must not stop the other sequences
            message, log_file = f"{message} (its log could not be written: {error})", None
        report.failures.append(Failure(task.tracker, task.sequence, message, log_file))


def _check_unique_names(sequences: list[Sequence], trackers: list[Tracker]) -> None:
    """Refuses repeated names, and names that differ only in case if the file system ignores case (Windows, macOS)."""
    names = [sequence.name for sequence in sequences]
    repeated = _repeated(names, str)
    if not repeated and (alike := _repeated(names, str.casefold)):
        repeated = alike if any(ignores_case(tracker.results_dir) for tracker in trackers) else []
    if repeated:
        raise UserError(f"sequences with the same name would overwrite each other's results: {', '.join(repeated)}")


def _repeated(names: list[str], key: Callable[[str], str]) -> list[str]:
    counts = Counter(map(key, names))
    return sorted({name for name in names if counts[key(name)] > 1})


class _Progress:
    """A progress bar over frames, labelled with the number of finished sequences, and one line for each of these."""

    def __init__(self, tasks: list[Task], total: int, kept: int, show: bool) -> None:
        self._total, self._done = total, kept
        self._seen = dict.fromkeys(map(id, tasks), 0)
        self._show = show
        frames = sum(len(task.sequence) for task in tasks)
        self._bar = progress_bar(total=frames, unit="frame", disable=not show or not tasks, smoothing=0.05)
        self._describe()

    def close(self) -> None:
        self._bar.close()

    def frames(self, task: Task, frames: int) -> None:
        """Sets the number of frames done in a running task."""
        self._bar.update(frames - self._seen[id(task)])
        self._seen[id(task)] = frames

    def finished(self, outcome: Outcome) -> None:
        """Counts a finished task and prints its line."""
        task, frames = outcome.task, len(outcome.task.sequence)
        self.frames(task, frames)
        self._done += 1
        self._describe()
        if self._show:
            speed = "kept" if outcome.kept else f"{frames / max(outcome.seconds, 1e-9):8.1f} fps"
            state = "FAILED" if outcome.error else speed
            self._bar.write(f"{task.tracker.display_name:<28} {task.sequence.name:<24} {frames:5d} frames  {state}")

    def _describe(self) -> None:
        self._bar.set_description(f"sequence {self._done}/{self._total}", refresh=False)
