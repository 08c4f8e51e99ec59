"""The standard tables: overall, per sequence, per attribute, head to head; and the selection of hard sequences."""
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from ltr.errors import UserError
from pytracking.analysis.evaluate import Evaluation, TrackerScores
from pytracking.analysis.scores import MEASURES
from pytracking.analysis.statistics import compare_paired, mean_and_interval
from pytracking.analysis.tables import Number, Table
from pytracking.evaluation.results import peak_memory_file, read_peak_memory
from pytracking.evaluation.sequence import Sequence

PLOT_COLUMNS = {"success": ("AUC", "OP50", "OP75"), "prec": ("Precision",), "norm_prec": ("Norm Precision",)}
DECIMALS = 3
PAIRED = (
    "paired over sequences (mean over runs): bootstrap interval, two-sided sign-flip permutation test; "
    "a single sequence gives neither"
)
EASY_AUC = 0.75  # the paper's bound: a sequence is easy if every run of the reference tracker exceeds it


def overall_table(evaluation: Evaluation, title: str = "results", columns: Iterable[str] = tuple(MEASURES)) -> Table:
    """Builds a table with one row per tracker: scores from 0 to 1 with 95 % intervals over runs, speed and memory."""
    columns = list(columns)
    memory = [peak_memory(evaluation, tracker) for tracker in evaluation.trackers]
    extra = ["fps"] if any(not np.isnan(t.frames_per_second) for t in evaluation.trackers) else []
    extra += ["MiB"] if not np.isnan(memory).all() else []
    header = ["Tracker", "Runs", *columns, *extra]
    table = Table(_title(title, evaluation), header, notes=rule_notes(evaluation), best=columns)
    for tracker, mib in zip(evaluation.trackers, memory, strict=True):
        summary = evaluation.summary(tracker)
        numbers = [_score(getattr(summary, MEASURES[column])) for column in columns]
        speeds = {"fps": Number(tracker.frames_per_second, decimals=1), "MiB": Number(mib, decimals=0)}
        table.rows.append([tracker.name, len(tracker.runs), *numbers, *(speeds[name] for name in extra)])
    if "MiB" in extra:
        table.notes.append("MiB: peak memory, of the GPU if one was used, otherwise resident memory of the process")
    if any(len(tracker.runs) > 1 for tracker in evaluation.trackers):
        table.notes.append("± : 95 % interval of the mean over runs (Student's t)")
    return table


def per_sequence_table(
    evaluation: Evaluation, title: str = "AUC of each sequence", measure: str = "AUC", order: str = "name"
) -> Table:
    """Builds a table with one row per sequence and one column per tracker (mean over runs).

    ``order`` is "name", or "gap" to list the sequences on which the first two trackers differ most first.
    """
    scores = np.stack([_per_sequence(evaluation, tracker, measure) for tracker in evaluation.trackers])  # (t, s)
    indices = np.arange(scores.shape[1])
    if order == "gap" and len(scores) > 1:
        indices = np.argsort(-np.abs(scores[0] - scores[1]), kind="stable")
    elif order != "name":
        raise UserError(f"order: 'name', or 'gap' with at least two trackers, not {order!r}")
    names = [tracker.name for tracker in evaluation.trackers]
    table = Table(_title(title, evaluation), ["Sequence", "Frames", *names], notes=rule_notes(evaluation))
    for index in indices:
        sequence = evaluation.sequences[index]
        numbers = [Number(float(score), decimals=DECIMALS) for score in scores[:, index]]
        table.rows.append([sequence.name, len(sequence.ground_truth_rect), *numbers])
    table.rows.append(["mean of sequences", "", *(Number(float(row.mean()), decimals=DECIMALS) for row in scores)])
    return table


def attribute_table(evaluation: Evaluation, title: str = "AUC by attribute", measure: str = "AUC") -> Table:
    """Builds a table with one row per benchmark attribute, over the sequences that have it."""
    attributes = sorted({name for sequence in evaluation.sequences for name in _challenges(sequence)})
    if not attributes:
        datasets = ", ".join(sorted({sequence.dataset for sequence in evaluation.sequences}))
        raise UserError(f"the sequences of '{datasets}' have no attributes")
    names = [tracker.name for tracker in evaluation.trackers]
    table = Table(_title(title, evaluation), ["Attribute", "Sequences", *names], notes=rule_notes(evaluation))
    for attribute in attributes:
        part = evaluation.select(lambda sequence, wanted=attribute: wanted in _challenges(sequence))
        numbers = [_score(getattr(part.summary(tracker), MEASURES[measure])) for tracker in part.trackers]
        table.rows.append([attribute, len(part.sequences), *numbers])
    return table


def hard_sequences(evaluation: Evaluation, reference: str, easy_above: float = EASY_AUC) -> Evaluation:
    """Keeps the paper's hard sequences: those where some run of the reference tracker has an AUC of 0.75 or less."""
    auc = evaluation.sequence_scores(evaluation.tracker(reference), "auc")  # (runs, sequences)
    easy = {name for name, exceeds in zip(evaluation.names, (auc > easy_above).all(axis=0), strict=True) if exceeds}
    return evaluation.select(lambda sequence: sequence.name not in easy)


def head_to_head_table(evaluation: Evaluation, first: str, second: str, measure: str = "AUC") -> Table:
    """Compares two trackers over sequences: difference, interval, paired test."""
    a, b = (_per_sequence(evaluation, evaluation.tracker(name), measure) for name in (first, second))
    result = compare_paired(a, b)
    title = _title(f"{first} against {second}: {measure}", evaluation)
    table = Table(title, ["", "value"], notes=rule_notes(evaluation))
    table.rows = [
        [first, Number(float(a.mean()), decimals=DECIMALS)],
        [second, Number(float(b.mean()), decimals=DECIMALS)],
        ["difference", Number(result.difference, decimals=DECIMALS)],
        ["95 % interval", result.interval],
        ["p (two-sided)", Number(result.p_value, decimals=4)],
        [f"{first} better on", result.wins],
        [f"{second} better on", result.losses],
        ["equal on", result.ties],
    ]
    table.notes.append(PAIRED)
    return table


def _per_sequence(evaluation: Evaluation, tracker: TrackerScores, measure: str) -> np.ndarray:
    return evaluation.sequence_scores(tracker, MEASURES[measure]).mean(axis=0)  # (sequences,)


def _score(runs: np.ndarray) -> Number:
    return Number(*mean_and_interval(runs), DECIMALS)


def _challenges(sequence: Sequence) -> list[str]:
    return sequence.attributes.get("challenges", [])


def _title(title: str, evaluation: Evaluation) -> str:
    frames = sum(len(sequence.ground_truth_rect) for sequence in evaluation.sequences)
    return f"{title} ({len(evaluation.sequences)} sequences, {frames} frames)"


def rule_notes(evaluation: Evaluation) -> list[str]:
    """Returns the notes below every table: the rule behind its numbers, and the sequences left out."""
    rule = evaluation.rule
    gap = "" if rule == replace(rule, gap=0.05) or rule.name == "got10k" else f", overlap thresholds every {rule.gap:g}"
    only = ", only valid frames counted" if rule.exclude_invalid and rule.name == "pytracking" else ""
    notes = [f"scores from 0 to 1 by rule '{rule.name}'{gap}{only} ({rule.summary})"]
    if evaluation.left_out:
        shown = ", ".join(evaluation.left_out[:5]) + (" ..." if len(evaluation.left_out) > 5 else "")
        notes.append(f"left out because results are missing: {len(evaluation.left_out)} sequences ({shown})")
    return notes


def peak_memory(evaluation: Evaluation, tracker: TrackerScores) -> float:
    """Returns the largest peak memory of all runs in MiB; NaN if none was recorded."""
    files = [peak_memory_file(run, name) for run in tracker.runs if run.is_dir() for name in evaluation.names]
    return max((read_peak_memory(path) for path in files if path.exists()), default=float("nan"))
