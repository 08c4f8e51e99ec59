"""Results of whole runs, checked before anything is packed."""
from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pytracking.evaluation.results import (
    ResultFileError,
    boxes_file,
    read_boxes,
    read_scores,
    read_times,
    scores_file,
    times_file,
)
from pytracking.evaluation.sequence import Sequence
from pytracking.evaluation.submission.archive import SubmissionError

SHOWN_PROBLEMS = 10


@dataclass(frozen=True)
class SequenceResult:
    """One run on one sequence."""

    boxes: np.ndarray  # (n, 4)
    times: np.ndarray | None  # (n,)
    scores: np.ndarray | None  # (n,)


def collect(run: Path, sequences: list[Sequence], *, need_times: bool = False) -> dict[str, SequenceResult]:
    """Results of every sequence by name, or one error that lists all that is wrong."""
    results, problems = {}, []
    for sequence in sequences:
        try:
            results[sequence.name] = _read(run, sequence, need_times)
        except ResultFileError as error:
            problems.append(str(error))
    if problems:
        shown = "\n  ".join(problems[:SHOWN_PROBLEMS])
        more = f"\n  ... and {len(problems) - SHOWN_PROBLEMS} more" if len(problems) > SHOWN_PROBLEMS else ""
        raise SubmissionError(f"{len(problems)} of {len(sequences)} sequences cannot be packed:\n  {shown}{more}")
    return results


def _read(run: Path, sequence: Sequence, need_times: bool) -> SequenceResult:
    path = boxes_file(run, sequence.name)
    boxes = read_boxes(path)
    if len(boxes) != len(sequence):
        raise ResultFileError(f"{path}: {len(boxes)} rows for {len(sequence)} frames")
    times = scores = None
    if need_times or times_file(run, sequence.name).exists():
        times = read_times(times_file(run, sequence.name))
        if len(times) != len(sequence):
            raise ResultFileError(f"{times_file(run, sequence.name)}: {len(times)} rows for {len(sequence)} frames")
    if scores_file(run, sequence.name).exists():
        scores = read_scores(scores_file(run, sequence.name))
        if len(scores) != len(sequence):
            raise ResultFileError(f"{scores_file(run, sequence.name)}: {len(scores)} rows for {len(sequence)} frames")
    return SequenceResult(boxes, times, scores)
