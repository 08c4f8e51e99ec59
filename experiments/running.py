"""Runs an experiment on any engine; finished sequences are not repeated."""
from ltr.errors import UserError
from pytracking.evaluation.running import Pool, RunReport, run_dataset

from .definition import Experiment
from .selection import Job
from .vot_protocol import run_vot_job


class NothingToRunError(UserError):
    """Data or weights are missing; the message names them and the remedy."""


class SequencesFailedError(RuntimeError):
    """Some sequences failed; the message is the whole summary. Successful results are kept."""


def run_experiment(
    experiment: Experiment,
    jobs: list[Job],
    *,
    workers: int,
    pool: Pool | None = None,
    progress: bool = True,
    overwrite: bool = False,
) -> list[str]:
    """Runs what is missing of every benchmark that can run; returns a summary of each, with a line per failure.

    ``overwrite`` is passed to :func:`run_dataset`.

    Raises:
        NothingToRunError: no benchmark can run; the message names what is missing.
        SequencesFailedError: some sequences failed.
    """
    summaries, missing, failures = [], [], 0
    for job in jobs:
        dataset = job.benchmark.dataset
        if job.problems:
            missing.append("\n".join(map(str, job.problems)))
            continue
        if job.benchmark.protocol == "vot":
            report: RunReport = run_vot_job(job, workers, progress)
        else:
            report = run_dataset(
                job.sequences, job.all_trackers, threads=workers, progress=progress, pool=pool, overwrite=overwrite
            )
        failures += len(report.failures)
        summaries.append(f"{dataset}: {report.summary()}")
    if missing and not summaries:
        raise NothingToRunError(f"experiment '{experiment.name}' cannot run:\n" + "\n".join(missing))
    if missing:
        summaries.append("skipped because something is missing:\n" + "\n".join(missing))
    if failures:
        raise SequencesFailedError("\n".join(summaries))
    return summaries
