"""Runs a workspace's experiments: through TraX, like the toolkit, or with the trackers in worker processes."""
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tqdm import tqdm
from vot.experiment import Experiment
from vot.tracker import Tracker
from vot.workspace import Workspace

from ltr.errors import UserError
from pytracking.evaluation.running import outcomes_of
from pytracking.evaluation.tasks import Outcome
from pytracking.utils.names import unknown_name_message
from pytracking.vot_integration.execution import ENGINES, VotTask, VotTaskRunner, open_workspace, write_log
from pytracking.vot_integration.workspace import DEFAULT_TIMEOUT, WorkspaceError


@dataclass(frozen=True)
class Failure:
    """A sequence that failed."""

    task: VotTask
    cause: str
    log_file: Path


@dataclass
class VotRunReport:
    """What :func:`run_workspace` did."""

    finished: int = 0
    failures: list[Failure] = field(default_factory=list)
    not_started: int = 0  # because a failure ended the run

    def summary(self) -> str:
        """Returns a few lines to show at the end of a run."""
        lines = [f"{self.finished} sequences done, {len(self.failures)} failed, {self.not_started} not started"]
        for failure in self.failures:
            task = failure.task
            lines.append(f"  FAILED {task.tracker} on {task.experiment}/{task.sequence}: {failure.cause}")
            lines.append(f"         log: {failure.log_file}")
        return "\n".join(lines)


def run_workspace(
    folder: str | Path,
    trackers: Iterable[str] = (),
    *,
    experiments: Iterable[str] = (),
    engine: str = "trax",
    threads: int = 1,
    force: bool = False,
    persist: bool = False,
    timeout: float | None = DEFAULT_TIMEOUT,
    progress: bool = True,
) -> VotRunReport:
    """Evaluates trackers in a workspace; complete results are kept.

    Args:
        engine: ``trax`` starts each tracker like the toolkit; ``inprocess`` calls it in the worker, which loads the
            network once. Both give the same results.
        threads: number of worker processes, one sequence each; 0 runs in this process. Experiments with a real-time
            limit run one sequence at a time, because others would slow the tracker down.
        timeout: seconds per call after which an in-process worker is ended; a TraX tracker has its timeout in
            ``trackers.ini``.
    """
    if engine not in ENGINES:
        raise UserError(unknown_name_message("engine", engine, ENGINES))
    if threads < 0:
        raise UserError(f"threads must be 0 or more, not {threads}")
    workspace = open_workspace(folder)
    chosen = chosen_experiments(workspace, experiments)
    timeout = timeout if threads else None  # ending a hung call means ending its process
    tasks = [
        VotTask(workspace.directory, tracker.reference, experiment.identifier, sequence.name, engine, force, timeout)
        for tracker in chosen_trackers(workspace, trackers)
        for experiment in chosen
        for sequence in workspace.dataset
    ]
    timed = {experiment.identifier for experiment in chosen if experiment.realtime is not None}
    report = VotRunReport()
    with tqdm(total=len(tasks), unit="seq", disable=not progress, dynamic_ncols=True) as bar:
        for outcome in _outcomes(tasks, threads, timed):
            _note(outcome, report)
            bar.set_postfix_str(f"{outcome.task.tracker} {outcome.task.experiment}", refresh=False)
            bar.update()
            if report.failures and not persist:
                report.not_started = len(tasks) - report.finished - len(report.failures)
                break
    return report


def _outcomes(tasks: list[VotTask], threads: int, timed: set[str]) -> Iterator[Outcome]:
    """Runs the tasks; with several workers, ``timed`` experiments come last, one sequence at a time."""
    alone = [task for task in tasks if threads > 1 and task.experiment in timed]
    together = [task for task in tasks if task not in alone]
    for part, workers in ((together, threads), (alone, 1)):
        yield from outcomes_of(part, workers, lambda task, frames: None, VotTaskRunner)


def chosen_trackers(workspace: Workspace, references: Iterable[str]) -> list[Tracker]:
    """Registered trackers by reference, or all."""
    references = list(references)
    for reference in references:
        if reference not in workspace.registry:
            raise WorkspaceError(unknown_name_message("tracker", reference, workspace.registry.identifiers()))
    trackers = workspace.registry.resolve(*references) if references else list(workspace.registry)
    if not trackers:
        raise WorkspaceError(f"no trackers in {workspace.directory}/trackers.ini: add some with vot init --trackers")
    return trackers


def chosen_experiments(workspace: Workspace, names: Iterable[str]) -> list[Experiment]:
    """Experiments of the stack by name, or all."""
    known = workspace.stack.experiments
    names = list(names) or list(known)
    for name in names:
        if name not in known:
            raise WorkspaceError(unknown_name_message("experiment of this stack called", name, known))
    return [known[name] for name in names]


def _note(outcome: Outcome, report: VotRunReport) -> None:
    if outcome.error is None:
        report.finished += 1
        return
    cause, _, log_file = outcome.error.strip().partition("\nlog: ")
    if not log_file:  # the worker died without writing one
        task = outcome.task
        detail = ""
        if task.hang_log.is_file() and task.hang_log.stat().st_size:
            cause = f"no answer within {task.timeout:g} seconds; {cause}"
            detail = task.hang_log.read_text(encoding="utf-8")
            task.hang_log.unlink()
        log_file = write_log(task, cause, detail)
    report.failures.append(Failure(outcome.task, cause, Path(log_file)))
