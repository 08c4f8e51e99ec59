"""Scores of all runs of all trackers on a dataset, from result files: in parallel, with a cache, with a bar."""
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

FILES_PER_TASK = 40  # result files that a worker scores before it reports; starting one for fewer takes longer


class MissingResultsError(UserError, FileNotFoundError):
    """Result files that are not there; the message names them."""


@dataclass(frozen=True)
class TrackerScores:
    """All runs of one tracker."""

    name: str
    runs: tuple[Path, ...]
    scores: tuple[SequenceScores, ...]  # one per sequence; their leading axis is the run
    seconds: np.ndarray  # (runs, sequences) time inside the tracker; NaN where no times were written
    lengths: np.ndarray  # (sequences,) frames

    def select(self, places: list[int]) -> TrackerScores:
        """These sequences alone."""
        return replace(
            self,
            scores=tuple(self.scores[place] for place in places),
            seconds=self.seconds[:, places],
            lengths=self.lengths[places],
        )

    @property
    def frames_per_second(self) -> float:
        """Frames over seconds of everything that was timed; NaN if nothing was."""
        timed = ~np.isnan(self.seconds)
        frames = (timed * self.lengths).sum()
        return float(frames / self.seconds[timed].sum()) if frames else float("nan")


@dataclass(frozen=True)
class Evaluation:
    """Scores of trackers on the same sequences under one rule."""

    rule: EvaluatorRule
    sequences: tuple[Sequence, ...]
    trackers: tuple[TrackerScores, ...]
    left_out: tuple[str, ...] = ()  # sequences without results of some tracker, where that was allowed

    @property
    def names(self) -> list[str]:
        """Names of the sequences, in order."""
        return [sequence.name for sequence in self.sequences]

    def tracker(self, name: str) -> TrackerScores:
        """A tracker by its displayed name."""
        for tracker in self.trackers:
            if tracker.name == name:
                return tracker
        raise UserError(f"no tracker '{name}'; there are: {', '.join(tracker.name for tracker in self.trackers)}")

    def select(self, keep: Callable[[Sequence], bool]) -> Evaluation:
        """The sequences that ``keep`` accepts."""
        places = [place for place, sequence in enumerate(self.sequences) if keep(sequence)]
        return replace(
            self,
            sequences=tuple(self.sequences[place] for place in places),
            trackers=tuple(tracker.select(places) for tracker in self.trackers),
        )

    def summary(self, tracker: TrackerScores) -> Summary:
        """The numbers of a table row, one per run."""
        return summarise(tracker.scores, self.rule)

    def sequence_scores(self, tracker: TrackerScores, measure: str = "auc") -> np.ndarray:
        """One measure of each run on each sequence: (runs, sequences)."""
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
        trackers: trackers or result sets; the same display name makes one row (see ``merge``).
        sequences: with a true box for every frame.
        merge: False makes a row of each run.
        missing: "error", or "skip" to leave out sequences that some run has no result of.
        lengths: "error" refuses a file with rows too few or too many; "rule" lets the evaluator's rule pad or cut it.
        workers: processes; None takes the machine's cores.
        cache: keep scores in the user's cache folder, keyed by content.

    Raises:
        MissingResultsError: naming the files that are not there.
        ResultFileError: naming file and line of a result that cannot be trusted.
    """
    rule, rows, sequences = get_rule(rule), as_result_sets(trackers, merge=merge), list(sequences)
    _check_arguments(rows, sequences, missing, lengths)
    kept, left_out = _split_missing(rows, sequences, missing)
    store = ScoreCache(env_settings().cache_path / "scores" if cache else None)
    jobs = [Job.of(sequence, rule, lengths) for sequence in kept]
    found = _lookup(jobs, rows, store, progress)
    todo = [(place, run) for (place, run), row in found.items() if row is None]
    for (place, run), key, row in _compute(jobs, todo, workers, progress):
        store.put(run.path, key, row)
        found[place, run] = row
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
    secret = [s.name for s in sequences if len(s.ground_truth_rect) != len(s.frames)]
    if secret:
        raise UserError(
            f"{len(secret)} sequences have a public box for the first frame only ({', '.join(secret[:3])} ...): "
            "their scores come from the benchmark's server; `pytracking pack` makes the submission"
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
        remedy = "run the trackers on them, or leave these sequences out (missing='skip', --missing skip)"
        raise MissingResultsError(f"{len(files)} result files are missing:\n  {shown}\n{remedy}")
    return kept, left_out


def _lookup(
    jobs: list[Job], rows: list[ResultSet], store: ScoreCache, progress: bool
) -> dict[tuple[int, Run], np.ndarray | None]:
    """Cached rows by sequence and run, None where there is none; reads and digests every file."""
    runs = list(dict.fromkeys(run for row in rows for run in row.runs))
    found = {}
    with (
        tqdm(total=len(jobs) * len(runs), desc="reading", unit="file", disable=not progress, leave=False) as bar,
        ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool,  # reading and digesting let go of the interpreter
    ):
        for place, keys in enumerate(pool.map(lambda job: _keys(job, runs), jobs)):
            for run, key in zip(runs, keys, strict=True):
                found[place, run] = store.get(run.path, key)
            bar.update(len(runs))
    return found


def _keys(job: Job, runs: list[Run]) -> list[bytes]:
    name, sequence_key = job.sequence.name, job.key
    return [result_key(sequence_key, run.boxes(name) or b"", run.times(name)) for run in runs]


def _compute(jobs: list[Job], todo: list[tuple[int, Run]], workers: int | None, progress: bool):
    """Yields ``(place, run), key, row`` of everything that is not in the cache."""
    parts = [todo[start : start + FILES_PER_TASK] for start in range(0, len(todo), FILES_PER_TASK)]
    tasks = [({place: jobs[place] for place, _ in part}, part) for part in parts]
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
    for place, job in enumerate(jobs):
        table = np.stack([found[place, run] for run in row.runs])  # (runs, numbers)
        k, p = len(job.rule.overlap_thresholds), len(job.rule.pixel_thresholds)
        success, precision, normalised, tail = np.split(table, [k, k + p, k + 2 * p], axis=1)
        scores.append(SequenceScores(success, precision, normalised, tail[:, 0], int(tail[0, 1]), int(tail[0, 2])))
        seconds.append(tail[:, 3])
    lengths = np.array([len(job.sequence.ground_truth_rect) for job in jobs])
    paths = tuple(run.path for run in row.runs)
    return TrackerScores(row.name, paths, tuple(scores), np.stack(seconds, axis=1), lengths)
