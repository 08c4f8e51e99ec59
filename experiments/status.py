"""Shows the progress of an experiment."""
from __future__ import annotations

from dataclasses import dataclass
from itertools import product

from pytracking.analysis.tables import Table
from pytracking.evaluation.results import is_complete

from .selection import Job
from .vot_protocol import finished_repetitions


@dataclass(frozen=True)
class RowStatus:
    """Sequence-runs of one row of one benchmark."""

    dataset: str
    label: str
    done: int
    total: int
    failed: int  # those with an error log


def status_of(job: Job) -> list[RowStatus]:
    """The progress of a benchmark's rows, read from the result folders."""
    repetitions = finished_repetitions(job) if job.benchmark.protocol == "vot" else None
    rows = []
    for label, runs in job.trackers.items():
        done, failed = (0 if repetitions is None else repetitions[label]), 0
        counted = [] if repetitions is not None or job.is_blocked(label) else product(runs, job.sequences)
        for tracker, sequence in counted:
            if is_complete(tracker.results_dir, sequence.name, len(sequence)):
                done += 1
            elif (tracker.results_dir / "logs" / f"{sequence.name}.log").exists():
                failed += 1
        rows.append(RowStatus(job.benchmark.dataset, label, done, len(runs) * len(job.sequences), failed))
    return rows


def status_table(rows: list[RowStatus]) -> Table:
    """One row per tracker and dataset; the title gives the total."""
    done, total = sum(row.done for row in rows), sum(row.total for row in rows)
    share = f" ({100.0 * done / total:.1f} %)" if total else ""
    table = Table(f"{done:,d} of {total:,d} sequence-runs{share}", ["tracker", "dataset", "done", "of", "failed"])
    table.rows = [[row.label, row.dataset, row.done, row.total, row.failed] for row in rows]
    return table
