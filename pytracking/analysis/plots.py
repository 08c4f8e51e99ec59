"""Success, precision and normalised precision plots, as PNG and PDF, sized for a paper's column."""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ltr.errors import UserError
from pytracking.analysis.evaluate import Evaluation
from pytracking.analysis.rules import EvaluatorRule
from pytracking.analysis.statistics import t_quantile_975
from pytracking.evaluation.environment import env_settings
from pytracking.utils.files import replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Okabe and Ito's palette, safe for colour-blind readers
COLOURS = ("#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C6D31")
DASHES = ("-", (0, (5, 1.5)), (0, (1.2, 1.2)), (0, (4, 1.5, 1.2, 1.5)))
COLUMN_WIDTH = 3.5  # inches, in a two-column paper
LEGEND_ROWS = 9  # with more trackers the legend is placed next to the plot


@dataclass(frozen=True)
class PlotKind:
    """One of the three plots."""

    title: str
    x_label: str
    y_label: str
    curve: str  # attribute of Summary
    number: str  # attribute of Summary, for the legend
    thresholds: str  # attribute of the rule
    score: str  # attribute of the rule that defines the legend's number


KINDS = {
    "success": PlotKind(
        "Success plot", "Overlap threshold", "Success rate", "success_curve", "auc", "overlap_thresholds",
        "auc",
    ),
    "prec": PlotKind(
        "Precision plot", "Centre error threshold [pixels]", "Precision", "precision_curve", "precision",
        "pixel_thresholds", "precision",
    ),
    "norm_prec": PlotKind(
        "Normalised precision plot", "Centre error threshold over target size", "Precision",
        "normalised_precision_curve", "normalised_precision", "normalised_thresholds", "normalised",
    ),
}  # fmt: skip


def draw_plot(evaluation: Evaluation, kind: str = "success", title: str | None = None) -> Figure:
    """Draws one plot ("success", "prec" or "norm_prec"); the legend lists trackers by score."""
    from matplotlib.figure import Figure

    if kind not in KINDS:
        raise UserError(f"plot: one of {', '.join(KINDS)}, not '{kind}'")
    plot, outside = KINDS[kind], len(evaluation.trackers) > LEGEND_ROWS
    figure = Figure(figsize=(COLUMN_WIDTH * (1.7 if outside else 1.0), COLUMN_WIDTH * 0.8), layout="constrained")
    axes = figure.add_subplot()
    x = getattr(evaluation.rule, plot.thresholds)
    scored = [(evaluation.summary(tracker), tracker) for tracker in evaluation.trackers]
    names = [tracker.name for tracker in evaluation.trackers]
    for summary, tracker in sorted(scored, key=lambda pair: -float(np.mean(getattr(pair[0], plot.number)))):
        runs = getattr(summary, plot.curve)  # (runs, k)
        mean, score = runs.mean(axis=0), float(np.mean(getattr(summary, plot.number)))
        line, colour = divmod(names.index(tracker.name), len(COLOURS))  # dashes only once the colours are used up
        style = {"color": COLOURS[colour], "linestyle": DASHES[line % len(DASHES)]}
        axes.plot(x, mean, label=f"{tracker.name} [{score:.3f}]", linewidth=1.4, **style)
        if len(runs) > 1:
            width = t_quantile_975(len(runs) - 1) * runs.std(axis=0, ddof=1) / np.sqrt(len(runs))
            axes.fill_between(x, mean - width, mean + width, color=style["color"], alpha=0.18, linewidth=0)
    _dress(axes, plot, evaluation, x, title, outside)
    return figure


def save_plots(
    evaluation: Evaluation,
    report_name: str = "results",
    plot_types: Iterable[str] = ("success", "prec", "norm_prec"),
    *,
    folder: str | Path | None = None,
) -> list[Path]:
    """Writes ``<report_name>_<plot>.png`` and ``.pdf``; the folder defaults to the setting ``result_plot_path``."""
    home = Path(folder) if folder else env_settings().require("result_plot_path", "plots")
    written = []
    for kind in plot_types:
        figure = draw_plot(evaluation, kind)
        for suffix in ("png", "pdf"):
            path = home / f"{report_name}_{kind}.{suffix}"
            save_figure(figure, path)
            written.append(path)
    return written


def save_figure(figure: Figure, path: Path) -> None:
    """Writes a figure atomically; the suffix decides the format."""
    from matplotlib import rc_context

    # without a date the PDF is reproducible; publishers reject Type 3 fonts, Matplotlib's default
    with rc_context({"pdf.fonttype": 42}), replacing(path) as temporary:
        figure.savefig(temporary, dpi=300, metadata={"CreationDate": None} if path.suffix == ".pdf" else None)


def _dress(axes, plot: PlotKind, evaluation: Evaluation, x: np.ndarray, title: str | None, outside: bool) -> None:
    axes.set(xlim=(x[0], x[-1]), ylim=(0, 1), axisbelow=True)
    axes.set_xlabel(plot.x_label, fontsize=8)
    axes.set_ylabel(plot.y_label, fontsize=8)
    axes.set_title(title or plot.title, fontsize=9)
    axes.tick_params(labelsize=7)
    axes.grid(color="0.88", linewidth=0.6)
    place = {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0)} if outside else {"loc": "best"}
    legend = axes.legend(fontsize=6.5, framealpha=0.9, handlelength=2.2, borderpad=0.4, **place)
    legend.set_title(_legend_title(plot, evaluation.rule), prop={"size": 6})
    legend.set_alignment("left")


def _legend_title(plot: PlotKind, rule: EvaluatorRule) -> str:
    how = getattr(rule, plot.score)
    if plot.number == "auc":
        return f"AUC, rule '{rule.name}'"
    unit = " px" if plot.number == "precision" else ""
    shown = "area" if how in ("trapezoid", "grid_mean") else how.replace("at_", "at ") + unit
    return f"{shown}, rule '{rule.name}'"
