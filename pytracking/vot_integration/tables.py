"""Shows a report as a table and as a figure."""
from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

from pytracking.analysis.plots import save_figure
from pytracking.analysis.tables import Number, Table

if TYPE_CHECKING:
    from pytracking.vot_integration.report import VotReport

COLUMNS = (  # title, attribute of a row, decimals
    ("EAO", "eao", 3),
    ("A", "accuracy", 3),
    ("R", "robustness", 3),
    ("R_S", "reliability", 3),
    ("-ln R_S", "minus_log_reliability", 3),
    ("rtEAO", "realtime_eao", 3),
    ("AO", "average_overlap", 3),
    ("fps", "frames_per_second", 1),
)


def report_table(report: VotReport) -> Table:
    """One row per tracker, followed by the rows' notes."""
    table = Table(report.stack, ["tracker", *(title for title, _, _ in COLUMNS)])
    for row in report.rows:
        values = [(getattr(row, measure), decimals) for _, measure, decimals in COLUMNS]
        numbers = [Number(math.nan if value is None else float(value), decimals=decimals) for value, decimals in values]
        table.rows.append([row.label, *numbers])
        table.notes += [f"{row.label}: {note}" for note in row.notes]
    return table


def draw_eao_curves(report: VotReport, path: Path) -> None:
    """Draws the expected-overlap curves, the interval that EAO averages over, and accuracy against R_S."""
    from matplotlib.figure import Figure

    rows = [row for row in report.rows if row.eao_curve]
    figure = Figure(figsize=(11, 4.2), layout="constrained")
    curves, points = figure.subplots(1, 2, width_ratios=(3, 2))
    for row in rows:
        name = row.label if row.eao is None else f"{row.label} [{row.eao:.3f}]"
        curves.plot(range(1, len(row.eao_curve)), row.eao_curve[1:], label=name)
        points.scatter(row.reliability, row.accuracy, s=60, label=row.label)
    if report.eao_interval:
        curves.axvspan(*report.eao_interval, color="0.9", label="interval of EAO")
    curves.set(xlabel="sequence length (frames)", ylabel="expected average overlap", ylim=(0, 1), xlim=(1, None))
    curves.set_title("Expected average overlap")
    points.set(xlabel="reliability $R_S$ (S = 100)", ylabel="accuracy $A$", xlim=(-0.02, 1.02), ylim=(0, 1.02))
    points.set_title("Accuracy and reliability")
    curves.legend(fontsize=8)
    for axes in (curves, points):
        axes.grid(alpha=0.3)
    save_figure(figure, path)
