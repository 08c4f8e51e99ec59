"""The tables that people ask for: overall, per sequence, per attribute, head to head, hard sequences."""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from pytracking.analysis.evaluate import Evaluation, TrackerScores, evaluate
from pytracking.analysis.result_sets import ResultSet
from pytracking.analysis.statistics import compare_paired, mean_and_interval
from pytracking.analysis.tables import Number, Table
from pytracking.evaluation.results import memory_file, read_memory
from pytracking.evaluation.sequence import Sequence
from pytracking.evaluation.tracker import Tracker

# column -> attribute of Summary; percentages
MEASURES = {
    "AUC": "auc",
    "OP50": "op50",
    "OP75": "op75",
    "Precision": "precision",
    "Norm Precision": "normalised_precision",
    "AO": "average_overlap",
}
PLOT_COLUMNS = {"success": ("AUC", "OP50", "OP75"), "prec": ("Precision",), "norm_prec": ("Norm Precision",)}
EASY_AUC = 0.75  # the paper's bound: a sequence is easy where every run of the reference exceeds it


def overall_table(
    evaluation: Evaluation, title: str = "results", columns: Iterable[str] = tuple(MEASURES)
) -> Table:
    """One row a tracker: percentages with 95 % intervals over runs, speed and memory."""
    columns = list(columns)
    memory = [peak_memory(evaluation, tracker) for tracker in evaluation.trackers]
    extra = ["fps"] if any(not np.isnan(t.frames_a_second) for t in evaluation.trackers) else []
    extra += ["MiB"] if not np.isnan(memory).all() else []
    header = ["Tracker", "Runs", *columns, *extra]
    table = Table(_title(title, evaluation), header, notes=_notes(evaluation), best=columns)
    for tracker, mib in zip(evaluation.trackers, memory, strict=True):
        summary = evaluation.summary(tracker)
        numbers = [_percent(getattr(summary, MEASURES[column])) for column in columns]
        speeds = {"fps": Number(tracker.frames_a_second, decimals=1), "MiB": Number(mib, decimals=0)}
        table.rows.append([tracker.name, len(tracker.runs), *numbers, *(speeds[name] for name in extra)])
    if "MiB" in extra:
        table.notes.append("MiB: peak memory, on the GPU where one was used, else resident memory of the process")
    if any(len(tracker.runs) > 1 for tracker in evaluation.trackers):
        table.notes.append("± : 95 % interval of the mean over runs (Student's t)")
    return table


def per_sequence_table(
    evaluation: Evaluation, title: str = "AUC of each sequence", measure: str = "AUC", order: str = "name"
) -> Table:
    """One row a sequence, one column a tracker (mean over runs).

    Args:
        evaluation: the scores.
        title: stands above the table.
        measure: one of ``MEASURES``.
        order: "name", or "gap": where the first two trackers differ most comes first.
    """
    scores = np.stack([_per_sequence(evaluation, tracker, measure) for tracker in evaluation.trackers])  # (t, s)
    places = np.arange(scores.shape[1])
    if order == "gap" and len(scores) > 1:
        places = np.argsort(-np.abs(scores[0] - scores[1]), kind="stable")
    elif order != "name":
        raise ValueError(f"order: 'name', or 'gap' with at least two trackers, not {order!r}")
    names = [tracker.name for tracker in evaluation.trackers]
    table = Table(_title(title, evaluation), ["Sequence", "Frames", *names], notes=_notes(evaluation))
    for place in places:
        sequence = evaluation.sequences[place]
        numbers = [Number(100 * float(score)) for score in scores[:, place]]
        table.rows.append([sequence.name, len(sequence.ground_truth_rect), *numbers])
    table.rows.append(["mean of sequences", "", *(Number(100 * float(row.mean())) for row in scores)])
    return table


def attribute_table(evaluation: Evaluation, title: str = "AUC by attribute", measure: str = "AUC") -> Table:
    """One row an attribute of the benchmark, over the sequences that have it."""
    attributes = sorted({name for sequence in evaluation.sequences for name in _challenges(sequence)})
    if not attributes:
        datasets = ", ".join(sorted({sequence.dataset for sequence in evaluation.sequences}))
        raise ValueError(f"the sequences of '{datasets}' have no attributes")
    names = [tracker.name for tracker in evaluation.trackers]
    table = Table(_title(title, evaluation), ["Attribute", "Sequences", *names], notes=_notes(evaluation))
    for attribute in attributes:
        part = evaluation.select(lambda sequence, wanted=attribute: wanted in _challenges(sequence))
        numbers = [_percent(getattr(part.summary(tracker), MEASURES[measure])) for tracker in part.trackers]
        table.rows.append([attribute, len(part.sequences), *numbers])
    return table


def hard_sequences(evaluation: Evaluation, reference: str, easy_above: float = EASY_AUC) -> Evaluation:
    """The paper's hard sequences: those where not every run of the reference tracker exceeds an AUC of 0.75."""
    auc = evaluation.sequence_scores(evaluation.tracker(reference), "auc")  # (runs, sequences)
    easy = {name for name, exceeds in zip(evaluation.names, (auc > easy_above).all(axis=0), strict=True) if exceeds}
    return evaluation.select(lambda sequence: sequence.name not in easy)


def head_to_head_table(evaluation: Evaluation, first: str, second: str, measure: str = "AUC") -> Table:
    """Two trackers, sequence by sequence: difference, interval, paired test."""
    a, b = (_per_sequence(evaluation, evaluation.tracker(name), measure) for name in (first, second))
    result = compare_paired(a, b)
    table = Table(_title(f"{first} against {second}: {measure}", evaluation), ["", "value"], notes=_notes(evaluation))
    table.rows = [
        [first, Number(100 * float(a.mean()))],
        [second, Number(100 * float(b.mean()))],
        ["difference", Number(100 * result.difference)],
        ["95 % interval", f"[{100 * result.low:+.2f}, {100 * result.high:+.2f}]"],
        ["p (two-sided)", Number(result.p_value, decimals=4)],
        [f"{first} better on", result.wins],
        [f"{second} better on", result.losses],
        ["equal on", result.ties],
    ]
    table.notes.append("paired over sequences (mean over runs): bootstrap interval, sign-flip permutation test")
    return table


def print_results(
    trackers: Iterable[Tracker | ResultSet],
    dataset: Iterable[Sequence],
    report_name: str = "results",
    merge_results: bool = True,
    plot_types: Iterable[str] = ("success", "prec", "norm_prec"),
    *,
    style: str = "text",
    **options: object,
) -> Table:
    """Prints the overall table; ``options`` are those of :func:`pytracking.analysis.evaluate.evaluate`."""
    evaluation = evaluate(trackers, dataset, merge=merge_results, **options)
    table = overall_table(evaluation, report_name, [column for kind in plot_types for column in PLOT_COLUMNS[kind]])
    print(table.render(style))
    return table


def print_per_sequence_results(
    trackers: Iterable[Tracker | ResultSet],
    dataset: Iterable[Sequence],
    report_name: str = "AUC of each sequence",
    merge_results: bool = True,
    *,
    style: str = "text",
    **options: object,
) -> Table:
    """Prints a line a sequence; ``options`` are those of :func:`pytracking.analysis.evaluate.evaluate`."""
    table = per_sequence_table(evaluate(trackers, dataset, merge=merge_results, **options), report_name)
    print(table.render(style))
    return table


def _per_sequence(evaluation: Evaluation, tracker: TrackerScores, measure: str) -> np.ndarray:
    return evaluation.sequence_scores(tracker, MEASURES[measure]).mean(axis=0)  # (sequences,)


def _percent(runs: np.ndarray) -> Number:
    mean, width = mean_and_interval(runs)
    return Number(100 * mean, 100 * width)


def _challenges(sequence: Sequence) -> list[str]:
    return sequence.attributes.get("challenges", [])


def _title(title: str, evaluation: Evaluation) -> str:
    frames = sum(len(sequence.ground_truth_rect) for sequence in evaluation.sequences)
    return f"{title} ({len(evaluation.sequences)} sequences, {frames} frames)"


def _notes(evaluation: Evaluation) -> list[str]:
    rule = evaluation.rule
    gap = "" if rule == replace(rule, gap=0.05) or rule.name == "got10k" else f", overlap thresholds every {rule.gap:g}"
    only = ", only valid frames counted" if rule.exclude_invalid and rule.name == "pytracking" else ""
    notes = [f"rule '{rule.name}'{gap}{only} ({rule.summary})"]
    if evaluation.left_out:
        shown = ", ".join(evaluation.left_out[:5]) + (" ..." if len(evaluation.left_out) > 5 else "")
        notes.append(f"left out, for lack of results: {len(evaluation.left_out)} sequences ({shown})")
    return notes


def peak_memory(evaluation: Evaluation, tracker: TrackerScores) -> float:
    """Largest memory of the runs, in MiB; NaN where none was written down."""
    files = [memory_file(run, name) for run in tracker.runs if run.is_dir() for name in evaluation.names]
    return max((read_memory(path) for path in files if path.exists()), default=float("nan"))
