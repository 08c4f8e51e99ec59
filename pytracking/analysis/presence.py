"""OxUvA's table: TPR, TNR, their geometric mean and MaxGM, averaged over runs."""
from collections.abc import Iterable

import numpy as np

from ltr.errors import UserError
from pytracking.analysis.long_term import PresenceCounts, pool, presence_counts
from pytracking.analysis.result_sets import ResultSet, Run
from pytracking.analysis.statistics import mean_and_interval
from pytracking.analysis.tables import Number, Table
from pytracking.evaluation.results import ResultFileError, check_length, read_scores, scores_file
from pytracking.evaluation.sequence import Sequence

MEASURES = {"TPR": "tpr", "TNR": "tnr", "GM": "gm", "MaxGM": "max_gm"}


def presence_table(
    results: Iterable[ResultSet], sequences: Iterable[Sequence], threshold: float | None = None, title: str = "OxUvA"
) -> Table:
    """Builds a table with one row per tracker.

    The target counts as reported present where the score is at least ``threshold``; None means always. Sequences need
    the attributes ``label_frames`` and ``label_present``.
    """
    sequences = list(sequences)
    table = Table(f"{title} ({len(sequences)} tracks)", ["Tracker", "Runs", *MEASURES], best=list(MEASURES))
    for row in results:
        pooled = [score_run(run, sequences, threshold) for run in row.runs]
        numbers = [mean_and_interval([getattr(counts, name) for counts in pooled]) for name in MEASURES.values()]
        table.rows.append([row.name, len(row.runs), *(Number(mean, width, 3) for mean, width in numbers)])
    reported = "always reported present" if threshold is None else f"reported present where its score >= {threshold:g}"
    table.notes.append(f"rule 'oxuva' (labels pooled over tracks, located if overlap >= 0.5); target {reported}")
    return table


def score_run(run: Run, sequences: Iterable[Sequence], threshold: float | None = None) -> PresenceCounts:
    """Counts one run's labels over all tracks."""
    return pool(score_track(run, sequence, threshold) for sequence in sequences)


def score_track(run: Run, sequence: Sequence, threshold: float | None) -> PresenceCounts:
    """Counts one run's labels on one track."""
    boxes, facts = run.checked_boxes(sequence), sequence.attributes
    if "label_frames" not in facts:
        raise UserError(f"{sequence.label} has no presence labels")
    return presence_counts(
        boxes,
        _reported(run, sequence, threshold),
        sequence.ground_truth_rect,
        facts["label_frames"],
        facts["label_present"],
        image_size=facts.get("image_size"),
    )


def _reported(run: Run, sequence: Sequence, threshold: float | None) -> np.ndarray | None:
    if threshold is None:
        return None
    data, source = run.scores(sequence.name), scores_file(run.path, sequence.name)
    if data is None:
        raise ResultFileError(f"{run.source(sequence.name)}: no score file next to it; a presence threshold needs one")
    scores = check_length(read_scores(source, data), source, len(sequence))
    return np.nan_to_num(scores, nan=np.inf) >= threshold  # frames without a score count as present
