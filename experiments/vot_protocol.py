"""The reset-based protocol of tables 3 and 6, run and analysed by the official VOT toolkit."""
from dataclasses import replace
from pathlib import Path

import numpy as np

from pytracking.evaluation.environment import env_settings
from pytracking.vot_integration import workspace as workspaces
from pytracking.vot_integration.sequences import SourceSequence, find_sequences, from_dataset
from pytracking.vot_integration.toolkit import require_toolkit
from pytracking.vot_integration.trackers import TrackerSpec
from pytracking.vot_integration.workspace import StackChanges, WorkspaceError, is_workspace

from .scoring import VOT_METRICS, JobScores
from .selection import Job

STACKS = {"vot16": "vot2016/rgb", "vot17": "vot2017", "vot18": "vot2018/shortterm", "vot19": "vot2019/shortterm"}


def workspace_of(job: Job) -> Path:
    """The toolkit's workspace of a benchmark, in the results folder; a scaled-down run has a separate one."""
    scale = replace(job.selection, trackers=None).file_name  # trackers can be added to a workspace
    return env_settings().results_path / "vot" / "-".join(filter(None, [job.defined_dataset, scale]))


def run_vot_job(job: Job, workers: int, progress: bool = True):
    """Creates the workspace if there is none, then runs what is missing in it; returns the toolkit run's report."""
    require_toolkit()  # before the next line, which imports the toolkit
    from pytracking.vot_integration.running import run_workspace

    folder, specs = workspace_of(job), list(_specs(job).values())
    if is_workspace(folder):
        _check_workspace(folder, job)
        workspaces.add_trackers(folder, specs)
    else:
        changes = StackChanges(repetitions=job.selection.runs)
        workspaces.create_workspace(folder, STACKS[job.defined_dataset], specs, _sources(job), changes=changes)
    names = [spec.identifier for spec in specs]
    return run_workspace(folder, names, engine="inprocess", threads=workers, persist=True, progress=progress)


def _sources(job: Job) -> list[SourceSequence]:
    if job.selection.dataset is not None:
        return from_dataset(job.sequences)
    year = job.benchmark.dataset
    found = find_sequences(env_settings().require(f"{year}_path", f"benchmark {year}"))
    return [source for source in found if f"{year}_{source.name}" in job.sequences.names]


def _check_workspace(folder: Path, job: Job) -> None:
    """Raises WorkspaceError unless an existing workspace has the same repetitions and sequences."""
    from pytracking.vot_integration.execution import open_workspace
    from pytracking.vot_integration.report import supervised_experiment

    workspace = open_workspace(folder)
    existing = (supervised_experiment(workspace, realtime=False).repetitions, set(workspace.dataset.list()))
    wanted = (len(next(iter(job.trackers.values()))), {s.name for s in _sources(job) if s.always_visible})
    if existing != wanted:
        raise WorkspaceError(
            f"{folder} is a workspace of {existing[0]} repetitions and {len(existing[1])} sequences, but {wanted[0]} "
            f"and {len(wanted[1])} were requested; move it away, or choose another --results_path"
        )


def score_vot_job(job: Job) -> JobScores:
    """EAO, accuracy, reliability and real-time EAO of the results in the workspace."""
    from pytracking.vot_integration.report import tracker_row

    values, fps, unfinished = {}, {}, {}
    for label, found in _registered(job).items():
        if found is None:
            unfinished[label] = "its network is missing" if job.is_blocked(label) else "not run yet"
            continue
        row = tracker_row(*found)
        numbers = {metric: getattr(row, VOT_METRICS[metric]) for metric in job.benchmark.metrics}
        if all(value is None for value in numbers.values()):
            unfinished[label] = "; ".join(row.notes)
            continue
        values[label] = {m: np.array([np.nan if v is None else float(v)]) for m, v in numbers.items()}
        fps[label] = row.frames_per_second or float("nan")
        if any(value is None for value in numbers.values()):
            unfinished[label] = "; ".join(row.notes)
    return JobScores(values, fps, {}, None, unfinished)


def finished_repetitions(job: Job) -> dict[str, int]:
    """Row label -> number of sequence repetitions of the reset-based experiment that need not be run again."""
    from pytracking.vot_integration.execution import missing_repetitions
    from pytracking.vot_integration.report import supervised_experiment

    done = {}
    for label, found in _registered(job).items():
        done[label] = 0
        if found is not None:
            workspace, tracker = found
            experiment = supervised_experiment(workspace, realtime=False)
            for sequence in experiment.transform(list(workspace.dataset)):
                complete = experiment.scan(tracker, sequence)[0]  # a run ends early if its repetitions are equal
                missing = 0 if complete else len(missing_repetitions(experiment, tracker, sequence))
                done[label] += experiment.repetitions - missing
    return done


def _registered(job: Job) -> dict[str, tuple | None]:
    """Row label -> workspace and toolkit tracker; None if it is not in the workspace."""
    folder = workspace_of(job)
    if not is_workspace(folder):
        return dict.fromkeys(job.trackers)
    require_toolkit()
    from pytracking.vot_integration.execution import open_workspace

    workspace = open_workspace(folder)
    names = {label: None if job.is_blocked(label) else spec.identifier for label, spec in _specs(job).items()}
    return {
        label: (workspace, workspace.registry[name]) if name in workspace.registry.identifiers() else None
        for label, name in names.items()
    }


def _specs(job: Job) -> dict[str, TrackerSpec]:
    return {label: TrackerSpec.parse(job.benchmark.trackers[label]) for label in job.trackers}
