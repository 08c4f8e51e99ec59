"""Scores result files one at a time, in worker processes."""
from __future__ import annotations

import copy
from dataclasses import dataclass

import numpy as np

from pytracking.analysis.result_sets import Run
from pytracking.analysis.rules import EvaluatorRule
from pytracking.analysis.score_cache import evaluator_facts, result_key, sequence_digest
from pytracking.analysis.scores import score_sequence
from pytracking.evaluation.results import ResultFileError, read_boxes, read_times
from pytracking.evaluation.sequence import Sequence


@dataclass(frozen=True)
class Job:
    """A sequence to score, small enough to send to a worker."""

    sequence: Sequence  # without its frames
    rule: EvaluatorRule
    lengths: str  # "error" or "rule": how to treat files with too few or too many rows

    @classmethod
    def of(cls, sequence: Sequence, rule: EvaluatorRule, lengths: str) -> Job:
        light = copy.copy(sequence)
        light.frames = []  # a worker does not need thousands of paths
        return cls(light, rule.for_dataset(sequence.dataset), lengths)

    @property
    def key(self) -> bytes:
        """Digest of everything the scores depend on except the result file."""
        return sequence_digest(self.sequence, self.rule, self.lengths)


# the jobs by sequence index, and the (index, run) pairs to score
Task = tuple[dict[int, Job], list[tuple[int, Run]]]


def score_task(task: Task) -> list[tuple[tuple[int, Run], bytes, np.ndarray]]:
    """Scores a batch of files in a worker."""
    jobs, part = task
    keys = {index: job.key for index, job in jobs.items()}
    return [((index, run), *score_file(jobs[index], keys[index], run)) for index, run in part]


def score_file(job: Job, sequence_key: bytes, run: Run) -> tuple[bytes, np.ndarray]:
    """Returns key and row of one result file: curves, then mean overlap, frames, valid frames, seconds."""
    sequence, source = job.sequence, run.source(job.sequence.name)
    data, timing = run.boxes(sequence.name), run.times(sequence.name)
    if data is None:
        raise ResultFileError(f"{source}: the file has disappeared")
    boxes = read_boxes(source, data)
    truth = sequence.ground_truth_rect
    if job.lengths == "error" and len(boxes) != len(truth):
        what = "the file ends early" if len(boxes) < len(truth) else "more rows than frames"
        line = min(len(boxes), len(truth)) + 1
        raise ResultFileError(f"{source}, line {line}: {what} ({len(boxes)} rows for {len(truth)} frames)")
    try:
        score = score_sequence(boxes, truth, job.rule, visible=sequence.target_visible, **evaluator_facts(sequence))
    except ValueError as error:
        raise ResultFileError(f"{source}: {error}") from error
    seconds = read_times(f"{source.stem}_time.txt", timing).sum() if timing is not None else np.nan
    tail = [score.average_overlap, score.frames, score.valid_frames, seconds]
    row = np.concatenate([score.success, score.precision, score.normalised_precision, tail])
    return result_key(sequence_key, data, timing), row
