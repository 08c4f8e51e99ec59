"""A report as a table (text, Markdown, LaTeX, CSV) and as a figure."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pytracking.utils.files import replacing

if TYPE_CHECKING:
    from pytracking.vot.report import TrackerRow, VotReport

FORMATS = ("text", "markdown", "latex", "csv")


@dataclass(frozen=True)
class Column:
    """One measure."""

    title: str
    latex: str
    value: Callable[[TrackerRow], float | None]
    digits: int = 3


COLUMNS = (
    Column("EAO", r"$EAO\uparrow$", lambda row: row.eao),
    Column("A", r"$A\uparrow$", lambda row: row.accuracy),
    Column("R", r"$R\downarrow$", lambda row: row.robustness),
    Column("R_S", r"$R_S\uparrow$", lambda row: row.reliability),
    Column("-ln R_S", r"$-\ln R_S\downarrow$", lambda row: row.minus_log_reliability),
    Column("rtEAO", r"$rtEAO\uparrow$", lambda row: row.realtime_eao),
    Column("AO", r"$AO\uparrow$", lambda row: row.average_overlap),
    Column("fps", "fps", lambda row: row.frames_per_second, digits=1),
)


def render(report: VotReport, form: str = "text") -> str:
    """The table in one of ``FORMATS``; notes follow in text and Markdown."""
    rows = [[row.label, *(_number(column, row, form) for column in COLUMNS)] for row in report.rows]
    if form == "latex":
        return _latex(rows)
    titles = ["tracker", *(column.title for column in COLUMNS)]
    if form == "csv":
        return "".join(",".join(cells) + "\n" for cells in [titles, *rows])
    if form not in FORMATS:
        raise ValueError(f"unknown format '{form}', there are: {', '.join(FORMATS)}")
    lines = _aligned([titles, *rows], markdown=form == "markdown")
    notes = [f"{row.label}: {note}" for row in report.rows for note in row.notes]
    return "\n".join([report.stack, "", *lines, *(["", *notes] if notes else [])]) + "\n"


def _number(column: Column, row: TrackerRow, form: str) -> str:
    value = column.value(row)
    if value is None:
        return "" if form == "csv" else "-"
    return repr(float(value)) if form == "csv" else f"{value:.{column.digits}f}"


def _aligned(rows: list[list[str]], markdown: bool) -> list[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        lines.append("| " + " | ".join(cells) + " |" if markdown else "  ".join(cells))
    if markdown:
        rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
        lines.insert(1, "| " + " | ".join(rule) + " |")
    return lines


def _latex(rows: list[list[str]]) -> str:
    head = " & ".join(["tracker", *(column.latex for column in COLUMNS)])
    body = [" & ".join([row[0].replace("_", r"\_"), *row[1:]]) + r" \\" for row in rows]
    lines = [r"\begin{tabular}{l" + "c" * len(COLUMNS) + "}", head + r" \\", r"\hline", *body, r"\end{tabular}"]
    return "\n".join(lines) + "\n"


def draw_eao_curves(report: VotReport, path: str | Path) -> None:
    """Draws the expected-overlap curves, the interval that EAO averages over, and accuracy against R_S."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    rows = [row for row in report.rows if row.eao_curve]
    figure, (curves, points) = pyplot.subplots(1, 2, figsize=(11, 4.2), width_ratios=(3, 2), layout="constrained")
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
    with replacing(path) as temporary:
        figure.savefig(temporary, dpi=120)
    pyplot.close(figure)
