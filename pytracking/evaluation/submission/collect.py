"""Results of whole runs, checked before anything is packed."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pytracking.evaluation import results
from pytracking.evaluation.sequence import Sequence
from pytracking.evaluation.submission.archive import SubmissionError
from pytracking.utils.names import shortened


@dataclass(frozen=True)
class SequenceResult:
    """One run on one sequence."""

    boxes: np.ndarray  # (n, 4)
    times: np.ndarray | None  # (n,)
    scores: np.ndarray | None  # (n,)


def collect(run: Path, sequences: list[Sequence], *, need_times: bool = False) -> dict[str, SequenceResult]:
    """Results of every sequence by name, or one error that lists all that is wrong."""
    found, problems = {}, []
    for sequence in sequences:
        try:
            found[sequence.name] = _read(run, sequence, need_times)
        except results.ResultFileError as error:
            problems.append(str(error))
    if problems:
        shown = "\n  ".join(shortened(problems))
        raise SubmissionError(f"{len(problems)} of {len(sequences)} sequences cannot be packed:\n  {shown}")
    return found


def _read(run: Path, sequence: Sequence, need_times: bool) -> SequenceResult:
    def checked(path: Path, read: Callable[[Path], np.ndarray], needed: bool) -> np.ndarray | None:
        return results.check_length(read(path), path, len(sequence)) if needed or path.exists() else None

    return SequenceResult(
        checked(results.boxes_file(run, sequence.name), results.read_boxes, True),
        checked(results.times_file(run, sequence.name), results.read_times, need_times),
        checked(results.scores_file(run, sequence.name), results.read_scores, False),
    )
