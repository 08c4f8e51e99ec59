"""Scores the result files of all trackers and runs on a dataset: in parallel, cached, with a progress bar."""
from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from tqdm import tqdm

from ltr.errors import UserError
from pytracking.analysis.result_sets import ResultSet, Run, as_result_sets
from pytracking.analysis.rules import DEFAULT_RULE, EvaluatorRule, get_rule
from pytracking.analysis.score_cache import ScoreCache, result_key
from pytracking.analysis.score_files import Job, score_task
from pytracking.analysis.scores import SequenceScores, Summary, summarise
from pytracking.evaluation.environment import env_settings
from pytracking.evaluation.sequence import Sequence
from pytracking.evaluation.tracker import Tracker
from pytracking.utils.names import shortened

FILES_PER_TASK = 40  # result files per worker task; for fewer, starting a worker takes longer than scoring


class MissingResultsError(UserError, FileNotFoundError):
    """Result files are missing; the message names them."""


@dataclass(frozen=True)
class TrackerScores:
    """All runs of one tracker."""

    name: str
    runs: tuple[Path, ...]
    scores: tuple[SequenceScores, ...]  # one per sequence; the leading axis of each is the run
    seconds: np.ndarray  # (runs, sequences) time spent in the tracker; NaN where no times were recorded
    lengths: np.ndarray  # (sequences,) frames

    def select(self, places: list[int]) -> TrackerScores:
        """Keeps the sequences at these places."""
        return replace(
            self,
            scores=tuple(self.scores[place] for place in places),
            seconds=self.seconds[:, places],
            lengths=self.lengths[places],
        )

    @property
    def frames_per_second(self) -> float:
        """Speed over all timed sequences; NaN if none was timed."""
        timed = ~np.isnan(self.seconds)
        frames = (timed * self.lengths).sum()
        return float(frames / self.seconds[timed].sum()) if frames else float("nan")


@dataclass(frozen=True)
class Evaluation:
    """Scores of trackers on the same sequences under one rule."""

    rule: EvaluatorRule
    sequences: tuple[Sequence, ...]
    trackers: tuple[TrackerScores, ...]
    left_out: tuple[str, ...] = ()  # sequences skipped because some tracker has no result for them

    @property
    def names(self) -> list[str]:
        """Sequence names, in order."""
        return [sequence.name for sequence in self.sequences]

    def tracker(self, name: str) -> TrackerScores:
        """Returns the tracker with this display name."""
        for tracker in self.trackers:
            if tracker.name == name:
                return tracker
        raise UserError(f"no tracker '{name}'; there are: {', '.join(tracker.name for tracker in self.trackers)}")

    def select(self, keep: Callable[[Sequence], bool]) -> Evaluation:
        """Keeps the sequences that ``keep`` accepts."""
        indices = [index for index, sequence in enumerate(self.sequences) if keep(sequence)]
        return replace(
            self,
            sequences=tuple(self.sequences[index] for index in indices),
            trackers=tuple(tracker.select(indices) for tracker in self.trackers),
        )

    def summary(self, tracker: TrackerScores) -> Summary:
        """Returns the numbers of a tracker's table row, one per run."""
        return summarise(tracker.scores, self.rule)

    def sequence_scores(self, tracker: TrackerScores, measure: str = "auc") -> np.ndarray:
        """Returns one measure for each run and sequence: (runs, sequences)."""
        return np.stack([getattr(summarise([score], self.rule), measure) for score in tracker.scores], axis=1)


def evaluate(
    trackers: Iterable[Tracker | ResultSet],
    sequences: Iterable[Sequence],
    rule: str | EvaluatorRule = DEFAULT_RULE,
    *,
    merge: bool = True,
    missing: str = "error",
    lengths: str = "error",
    workers: int | None = None,
    cache: bool = True,
    progress: bool = True,
) -> Evaluation:
    """Scores result files.

    Args:
        trackers: trackers or result sets; those with the same display name share a row (see ``merge``).
        sequences: annotated in every frame.
        merge: False gives each run its own row.
        missing: "error", or "skip" to leave out sequences for which some run has no result.
        lengths: "error" rejects files with too few or too many rows; "rule" lets the evaluator's rule pad or cut them.
        workers: number of processes; None uses all cores.
        cache: keep scores in the user's cache folder, keyed by content.

    Raises:
        MissingResultsError: result files are missing; names them.
        ResultFileError: a result file is invalid; names the file and line.
    """
    rule, rows, sequences = get_rule(rule), as_result_sets(trackers, merge=merge), list(sequences)
    _check_arguments(rows, sequences, missing, lengths)
    kept, left_out = _split_missing(rows, sequences, missing)
    store = ScoreCache(env_settings().cache_path / "scores" if cache else None)
    jobs = [Job.of(sequence, rule, lengths) for sequence in kept]
    found = _cached_scores(jobs, rows, store, progress)
    todo = [(index, run) for (index, run), numbers in found.items() if numbers is None]
    for (index, run), key, numbers in _compute(jobs, todo, workers, progress):
        store.put(run.path, key, numbers)
        found[index, run] = numbers
    store.save()
    scores = tuple(_assemble(row, jobs, found) for row in rows)
    return Evaluation(rule, tuple(kept), scores, tuple(left_out))


def _check_arguments(rows: list[ResultSet], sequences: list[Sequence], missing: str, lengths: str) -> None:
    if missing not in ("error", "skip"):
        raise UserError(f"missing: 'error' or 'skip', not {missing!r}")
    if lengths not in ("error", "rule"):
        raise UserError(f"lengths: 'error' or 'rule', not {lengths!r}")
    if not rows or not sequences:
        raise UserError("nothing to evaluate: no trackers or no sequences were given")
    hidden = [s.name for s in sequences if len(s.ground_truth_rect) != len(s.frames)]
    if hidden:
        raise UserError(
            f"{len(hidden)} sequences have a public box for the first frame only ({', '.join(hidden[:3])} ...); "
            "the benchmark's server scores them: create a submission with `pytracking pack`"
        )


def _split_missing(
    rows: list[ResultSet], sequences: list[Sequence], missing: str
) -> tuple[list[Sequence], list[str]]:
    kept, left_out, files = [], [], []
    for sequence in sequences:
        absent = [run for row in rows for run in row.runs if not run.has(sequence.name)]
        files += [str(run.source(sequence.name)) for run in absent]
        (left_out if absent else kept).append(sequence.name if absent else sequence)
    if files and (missing == "error" or not kept):
        shown = "\n  ".join(shortened(files))
        remedy = "run the trackers on these sequences, or leave them out (missing='skip', --missing skip)"
        raise MissingResultsError(f"{len(files)} result files are missing:\n  {shown}\n{remedy}")
    return kept, left_out


def _cached_scores(
    jobs: list[Job], rows: list[ResultSet], store: ScoreCache, progress: bool
) -> dict[tuple[int, Run], np.ndarray | None]:
    """Looks up every (sequence index, run); None where the cache has no scores. Reads and hashes every file."""
    runs = list(dict.fromkeys(run for row in rows for run in row.runs))
    found = {}
    with (
        tqdm(total=len(jobs) * len(runs), desc="reading", unit="file", disable=not progress, leave=False) as bar,
        ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool,  # reading and hashing release the GIL
    ):
        for index, keys in enumerate(pool.map(lambda job: _keys(job, runs), jobs)):
            for run, key in zip(runs, keys, strict=True):
                found[index, run] = store.get(run.path, key)
            bar.update(len(runs))
    return found


def _keys(job: Job, runs: list[Run]) -> list[bytes]:
    name, sequence_key = job.sequence.name, job.key
    return [result_key(sequence_key, run.boxes(name) or b"", run.times(name)) for run in runs]


def _compute(jobs: list[Job], todo: list[tuple[int, Run]], workers: int | None, progress: bool):
    """Scores the files in ``todo``; yields ``(index, run), key, numbers`` for each."""
    parts = [todo[start : start + FILES_PER_TASK] for start in range(0, len(todo), FILES_PER_TASK)]
    tasks = [({index: jobs[index] for index, _ in part}, part) for part in parts]
    workers = min(workers or os.cpu_count() or 1, len(tasks))
    with (
        tqdm(total=len(todo), desc="scoring", unit="file", disable=not progress or not todo, leave=False) as bar,
        ProcessPoolExecutor(workers) if workers > 1 else nullcontext() as pool,
    ):
        for result in map(score_task, tasks) if pool is None else pool.map(score_task, tasks):
            yield from result
            bar.update(len(result))


def _assemble(row: ResultSet, jobs: list[Job], found: dict[tuple[int, Run], np.ndarray]) -> TrackerScores:
    scores, seconds = [], []
    for index, job in enumerate(jobs):
        table = np.stack([found[index, run] for run in row.runs])  # (runs, numbers)
        k, p = len(job.rule.overlap_thresholds), len(job.rule.pixel_thresholds)
        success, precision, normalised, tail = np.split(table, [k, k + p, k + 2 * p], axis=1)
        scores.append(SequenceScores(success, precision, normalised, tail[:, 0], int(tail[0, 1]), int(tail[0, 2])))
        seconds.append(tail[:, 3])
    lengths = np.array([len(job.sequence.ground_truth_rect) for job in jobs])
    paths = tuple(run.path for run in row.runs)
    return TrackerScores(row.name, paths, tuple(scores), np.stack(seconds, axis=1), lengths)
