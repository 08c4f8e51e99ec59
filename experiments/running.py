"""Runs an experiment: every tracker of every benchmark, resumable at the level of a sequence, on any engine."""
from __future__ import annotations

from experiments.definition import Experiment
from experiments.selection import Job
from pytracking.evaluation.running import Pool, RunReport, run_dataset


class NothingToRunError(RuntimeError):
    """Data or weights are missing; the message says which, and the remedy."""


def run_job(job: Job, *, workers: int, pool: Pool | None = None, progress: bool = True) -> RunReport:
    """Runs what is missing of one benchmark.

    Raises:
        NothingToRunError: if the dataset or a tracker's network is not there. Nothing has been run then.
    """
    if job.problems:
        raise NothingToRunError("\n".join(job.problems))
    return run_dataset(job.sequences, job.all_trackers, workers, progress=progress, pool=pool)


def run_experiment(
    experiment: Experiment, jobs: list[Job], *, workers: int, pool: Pool | None = None, progress: bool = True
) -> RunReport:
    """Runs every benchmark that can run; those that cannot are reported at the end by :class:`NothingToRunError`."""
    total, missing = RunReport(), []
    for job in jobs:
        if job.benchmark.protocol == "vot":
            missing.append(
                f"{job.benchmark.dataset}: run by the VOT toolkit's protocol: `python -m pytracking vot init`, "
                f"then `vot run` and `vot report` (docs/vot.md)"
            )
            continue
        try:
            report = run_job(job, workers=workers, pool=pool, progress=progress)
        except NothingToRunError as error:
            missing.append(str(error))
            continue
        total.computed += report.computed
        total.kept += report.kept
        total.failures += report.failures
    if missing and not (total.computed or total.kept):
        raise NothingToRunError(f"experiment '{experiment.name}' cannot run:\n" + "\n".join(missing))
    if missing and progress:
        print("left out:\n" + "\n".join(missing))
    return total
