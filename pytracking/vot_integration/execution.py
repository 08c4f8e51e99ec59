"""Runs one sequence of one experiment in a worker, through TraX or in process."""
import os
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from vot.experiment import Experiment
from vot.experiment.multirun import MultiRunExperiment
from vot.tracker import Tracker, TrackerException, Trajectory
from vot.workspace import Workspace

from pytracking.evaluation.tasks import Outcome
from pytracking.utils.files import write_text
from pytracking.vot_integration.inprocess import InProcessTracker
from pytracking.vot_integration.toolkit import REPETITIONS_VARIABLE, require_toolkit
from pytracking.vot_integration.trackers import TrackerSpecError
from pytracking.vot_integration.workspace import WorkspaceError, is_workspace, registered_spec

ENGINES = ("trax", "inprocess")


@dataclass(frozen=True)
class VotTask:
    """One sequence of one experiment for one tracker; small, because it is sent to a worker."""

    workspace: str
    tracker: str  # the toolkit's reference
    experiment: str
    sequence: str
    engine: str  # one of ENGINES
    force: bool = False
    timeout: float | None = None  # seconds per call of an in-process tracker; only with worker processes

    @property
    def hang_log(self) -> Path:
        """Where an in-process worker writes its stack before a timeout ends it."""
        return Path(self.workspace) / "logs" / f"{self.tracker}_{self.experiment}_{self.sequence}_hang.log"


class VotTaskRunner:
    """Runs tasks one after another; keeps workspaces open and the last in-process tracker loaded."""

    def __init__(self) -> None:
        self._workspaces: dict[str, Workspace] = {}
        self._loaded: tuple[tuple[str, str], InProcessTracker] | None = None

    def run(self, task: VotTask, progress: Callable[[int], None] | None = None) -> Outcome:
        """Runs the experiment on the sequence; the outcome's error begins with the cause and names the log file."""
        try:
            self._execute(task, progress)
        except Exception as error:
            self._loaded = None  # its state is unknown now
            detail = error.log if isinstance(error, TrackerException) and error.log else traceback.format_exc()
            cause = str(error) or type(error).__name__
            return Outcome(task, error=f"{cause}\nlog: {write_log(task, cause, detail)}\n")
        return Outcome(task)

    def _execute(self, task: VotTask, progress: Callable[[int], None] | None) -> None:
        if task.workspace not in self._workspaces:
            self._workspaces[task.workspace] = open_workspace(task.workspace)
        workspace = self._workspaces[task.workspace]
        experiment = workspace.stack[task.experiment]
        tracker = self._tracker(task, workspace.registry[task.tracker])
        for sequence in experiment.transform(workspace.dataset[task.sequence]):
            discard_damaged(experiment, tracker, sequence)
            missing = [] if task.force else missing_repetitions(experiment, tracker, sequence)
            frames = len(sequence)
            callback = None if progress is None else lambda part, frames=frames: progress(int(part * frames))
            if not isinstance(tracker, InProcessTracker):
                os.environ[REPETITIONS_VARIABLE] = " ".join(map(str, missing))
                experiment.execute(tracker, sequence, force=task.force, callback=callback)
                continue
            task.hang_log.parent.mkdir(parents=True, exist_ok=True)
            with open(task.hang_log, "w", encoding="utf-8") as log:
                tracker.repetitions, tracker.timeout, tracker.log = missing, task.timeout, log
                experiment.execute(tracker, sequence, force=task.force, callback=callback)
            task.hang_log.unlink()

    def _tracker(self, task: VotTask, registered: Tracker) -> Tracker:
        if task.engine == "trax":
            return registered
        key = (task.workspace, task.tracker)
        if self._loaded is None or self._loaded[0] != key:
            self._loaded = None  # frees the old network first
            spec = registered_spec(registered)
            if spec is None:
                raise TrackerSpecError(f"'{task.tracker}' is not one of this project's trackers: run it through TraX")
            tracker = InProcessTracker(registered.identifier, spec.load(), label=spec.label, version=registered.version)
            self._loaded = (key, tracker)
        return self._loaded[1]


def open_workspace(folder: str | Path) -> Workspace:
    """Loads a workspace without downloading anything; WorkspaceError if it is not a workspace or has no sequences."""
    require_toolkit()
    folder = Path(folder).expanduser().resolve()
    if not is_workspace(folder):
        raise WorkspaceError(f"'{folder}' is not a workspace; create one with: pytracking vot init {folder} …")
    if not (folder / "sequences" / "list.txt").is_file():  # the toolkit would start a download
        raise WorkspaceError(f"'{folder}' has no sequences (no sequences/list.txt); create it again with vot init")
    return Workspace.load(str(folder))


def missing_repetitions(experiment: Experiment, tracker: Tracker, sequence) -> list[int]:
    """Numbers (from 0) of a sequence's repetitions without results; empty for experiments without repetitions."""
    if not isinstance(experiment, MultiRunExperiment):
        return []
    results = experiment.results(tracker, sequence)
    names = [f"{sequence.name}_{number + 1:03d}" for number in range(experiment.repetitions)]
    return [number for number, name in enumerate(names) if not Trajectory.exists(results, name)]


def discard_damaged(experiment: Experiment, tracker: Tracker, sequence) -> None:
    """Removes unreadable or incomplete result files, which a killed run leaves.

    The toolkit would take their existence for a finished run.
    """
    results = experiment.results(tracker, sequence)
    length = len(sequence) if isinstance(experiment, MultiRunExperiment) else None  # otherwise it varies by anchor
    folder = Path(experiment.storage.base) / "results" / tracker.reference / experiment.identifier / sequence.name
    for file in [*folder.glob("*.bin"), *folder.glob("*.txt")]:
        try:
            complete = len(Trajectory.read(results, file.stem)) == length or length is None
        except Exception:  # truncated files raise many kinds of errors
            complete = False
        if not complete:
            file.unlink()


def write_log(task: VotTask, cause: str, detail: str) -> Path:
    """Writes a failure's cause and details to the workspace's ``logs``; returns the file."""
    stamp = f"{datetime.now():%Y-%m-%dT%H-%M-%S.%f}"
    path = Path(task.workspace) / "logs" / f"{task.tracker}_{stamp}.log"
    head = f"tracker {task.tracker}, experiment {task.experiment}, sequence {task.sequence}: {cause}\n\n"
    write_text(path, head + detail)
    return path
