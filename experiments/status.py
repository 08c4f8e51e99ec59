"""Shows the progress of an experiment."""
from dataclasses import dataclass
from itertools import product

from pytracking.analysis.tables import Table
from pytracking.evaluation import SequenceList, Tracker
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
        if repetitions is not None:
            done, failed = repetitions[label], 0
        else:
            done, failed = (0, 0) if job.is_blocked(label) else _done_and_failed(runs, job.sequences)
        rows.append(RowStatus(job.benchmark.dataset, label, done, len(runs) * len(job.sequences), failed))
    return rows


def _done_and_failed(runs: list[Tracker], sequences: SequenceList) -> tuple[int, int]:
    done = failed = 0
    for tracker, sequence in product(runs, sequences):
        if is_complete(tracker.results_dir, sequence.name, len(sequence)):
            done += 1
        elif (tracker.results_dir / "logs" / f"{sequence.name}.log").exists():
            failed += 1
    return done, failed


def status_table(rows: list[RowStatus]) -> Table:
    """One row per tracker and dataset; the title gives the total."""
    done, total = sum(row.done for row in rows), sum(row.total for row in rows)
    share = f" ({100.0 * done / total:.1f} %)" if total else ""
    table = Table(f"{done:,d} of {total:,d} sequence-runs{share}", ["tracker", "dataset", "done", "of", "failed"])
    table.rows = [[row.label, row.dataset, row.done, row.total, row.failed] for row in rows]
    return table
