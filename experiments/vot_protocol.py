"""Tables 3 and 6: the reset-based protocol, run and analysed by the official VOT toolkit."""
from __future__ import annotations

from pathlib import Path

import numpy as np

from experiments.definition import TrackerName
from experiments.scoring import VOT_METRICS, JobScores
from experiments.selection import Job
from pytracking.evaluation.environment import env_settings

STACKS = {
    "vot16": "vot2016/rgb",
    "vot17": "vot2017",
    "vot18": "vot2018/shortterm",
    "vot19": "vot2019/shortterm",
}


def workspace_of(job: Job) -> Path:
    """The toolkit's workspace of a benchmark, beside the other results."""
    return env_settings().results_path / "vot" / job.benchmark.dataset


def run_vot_job(job: Job, repetitions: int, workers: int, progress: bool = True):
    """Writes the workspace where there is none, then runs what is missing in it; returns the toolkit run's report."""
    from pytracking.vot.toolkit import require_toolkit

    require_toolkit()  # first, because the modules below import the toolkit
    from pytracking.vot.running import run_workspace
    from pytracking.vot.sequences import find_sequences
    from pytracking.vot.workspace import StackChanges, add_trackers, create_workspace, is_workspace

    folder, specs = workspace_of(job), _specs(job)
    if is_workspace(folder):
        add_trackers(folder, specs)
    else:
        key = f"{job.benchmark.dataset}_path"
        sources = find_sequences(env_settings().require(key, f"benchmark {job.benchmark.dataset}"))
        create_workspace(folder, STACKS[job.benchmark.dataset], specs, sources, changes=StackChanges(repetitions, None))
    names = [spec.identifier for spec in specs]
    return run_workspace(folder, names, engine="inprocess", threads=workers, persist=True, progress=progress)


def score_vot_job(job: Job) -> JobScores:
    """EAO, accuracy, reliability and real-time EAO of what the workspace holds."""
    from pytracking.vot.report import make_report
    from pytracking.vot.workspace import is_workspace

    folder = workspace_of(job)
    labels = list(job.trackers)
    if not is_workspace(folder):
        return JobScores({}, {}, {}, None, dict.fromkeys(labels, "not run yet"))
    rows = make_report(folder, [spec.identifier for spec in _specs(job)]).rows
    values, fps, unfinished = {}, {}, {}
    for label, row in zip(labels, rows, strict=True):
        found = {metric: getattr(row, VOT_METRICS[metric]) for metric in job.benchmark.metrics}
        if all(value is None for value in found.values()):
            unfinished[label] = "; ".join(row.notes) or "no results"
            continue
        values[label] = {m: np.array([np.nan if v is None else float(v)]) for m, v in found.items()}
        fps[label] = row.frames_per_second or float("nan")
    return JobScores(values, fps, {}, None, unfinished)


def _specs(job: Job) -> list:
    from pytracking.vot.trackers import TrackerSpec

    return [TrackerSpec.parse(str(TrackerName.parse(text))) for text in
            (job.benchmark.trackers[label] for label in job.trackers)]
