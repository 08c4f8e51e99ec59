"""Compares one tracker of a table with all others, paired over sequences."""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pytracking.analysis.evaluate import Evaluation
from pytracking.analysis.report import PAIRED
from pytracking.analysis.statistics import PairedComparison, compare_paired
from pytracking.analysis.tables import Number, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_SEQUENCES = 30  # a longer table by sequence would be unreadable


def sequence_means(evaluation: Evaluation) -> dict[str, np.ndarray]:
    """Row label -> AUC on each sequence (n,), averaged over runs."""
    return {tracker.name: evaluation.sequence_scores(tracker).mean(axis=0) for tracker in evaluation.trackers}


def against_others(evaluation: Evaluation, reference: str) -> dict[str, PairedComparison]:
    """Row label -> comparison of the reference with that row, for all other rows."""
    values = sequence_means(evaluation)
    return {label: compare_paired(values[reference], others) for label, others in values.items() if label != reference}


def difference_table(evaluation: Evaluation, reference: str) -> Table:
    """The reference's difference from every other row, paired over sequences, with its interval."""
    table = Table(
        f"{reference} minus the others: success (AUC)",
        ["against", "difference", "95 % interval", "p", "better on", "worse on", "equal on"],
    )
    for label, result in against_others(evaluation, reference).items():
        numbers = [Number(result.difference, decimals=3), result.interval, Number(result.p_value, decimals=3)]
        table.rows.append([label, *numbers, result.wins, result.losses, result.ties])
    table.notes.append(PAIRED)
    return table


def sequence_table(evaluation: Evaluation) -> Table:
    """AUC of every row on every sequence, averaged over runs."""
    table = Table("success (AUC) by sequence", ["sequence", *(tracker.name for tracker in evaluation.trackers)])
    columns = sequence_means(evaluation).values()
    for name, *values in zip(evaluation.names, *columns, strict=True):
        table.rows.append([name, *(Number(float(value), decimals=3) for value in values)])
    table.notes.append("mean over runs")
    return table


def draw_differences(evaluation: Evaluation, reference: str) -> Figure:
    """Draws each other row's difference with its 95 % interval, and a faint tick for each sequence."""
    from matplotlib.figure import Figure

    means, results = sequence_means(evaluation), against_others(evaluation, reference)
    figure = Figure(figsize=(6.2, 0.9 + 0.32 * len(results)), layout="constrained")
    axes = figure.add_subplot()
    for place, (label, result) in enumerate(results.items()):
        each = means[reference] - means[label]
        axes.plot(each, np.full(len(each), place + 0.22), "|", color="0.6", markersize=6)
        axes.plot([result.low, result.high], [place, place], color="C0", linewidth=2)
        axes.plot(result.difference, place, "o", color="C0", markersize=5)
    axes.axvline(0, color="0.3", linewidth=0.8)
    axes.set_yticks(range(len(results)), list(results), fontsize=8)
    axes.set_ylim(len(results) - 0.4, -0.6)
    axes.set_xlabel(f"AUC of {reference} minus the row's AUC; bars: 95 % interval, ticks: sequences", fontsize=8)
    axes.tick_params(axis="x", labelsize=7)
    axes.grid(axis="x", color="0.88", linewidth=0.6)
    return figure
