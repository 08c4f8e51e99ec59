"""pytracking's three functions under their own names and arguments, for scripts that were written for it.

``print_results``, ``print_per_sequence_results`` and ``plot_results`` take pytracking's keywords: ``merge_results``
(off unless asked for, as there), ``plot_bin_gap``, ``exclude_invalid_frames``, ``skip_missing_seq`` and
``force_evaluation``.
New code finds the same with intervals, formats and rules in :mod:`.report` and :mod:`.plots`.
"""
from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pytracking.analysis import plots, report
from pytracking.analysis.result_sets import ResultSet
from pytracking.analysis.rules import get_rule
from pytracking.analysis.tables import Table
from pytracking.evaluation.sequence import Sequence
from pytracking.evaluation.tracker import Tracker

Trackers = Iterable[Tracker | ResultSet]


def print_results(
    trackers: Trackers,
    dataset: Iterable[Sequence],
    report_name: str,
    merge_results: bool = False,
    plot_types: str | Iterable[str] = ("success",),
    **kwargs: object,
) -> Table:
    """Prints one row a tracker, or a run."""
    return report.print_results(
        trackers, dataset, report_name, merge_results, _kinds(plot_types), **_options(**kwargs)
    )


def print_per_sequence_results(
    trackers: Trackers, dataset: Iterable[Sequence], report_name: str, merge_results: bool = False, **kwargs: object
) -> Table:
    """Prints one row a sequence."""
    return report.print_per_sequence_results(trackers, dataset, report_name, merge_results, **_options(**kwargs))


def plot_results(
    trackers: Trackers,
    dataset: Iterable[Sequence],
    report_name: str,
    merge_results: bool = False,
    plot_types: str | Iterable[str] = ("success",),
    **kwargs: object,
) -> list[Path]:
    """Writes the plots to ``<result_plot_path>/<report_name>``."""
    folder = plots.env_settings().require("result_plot_path", "plots") / report_name
    return plots.plot_results(
        trackers, dataset, report_name, merge_results, _kinds(plot_types), folder=folder, **_options(**kwargs)
    )


def _kinds(plot_types: str | Iterable[str]) -> list[str]:
    return [plot_types] if isinstance(plot_types, str) else list(plot_types)


def _options(
    *,
    plot_bin_gap: float | None = None,
    exclude_invalid_frames: bool | None = None,
    skip_missing_seq: bool = False,
    force_evaluation: bool = False,
) -> dict[str, object]:
    return {
        "rule": get_rule("pytracking", gap=plot_bin_gap, exclude_invalid=exclude_invalid_frames),
        "missing": "skip" if skip_missing_seq else "error",
        "lengths": "rule",
        "cache": not force_evaluation,
    }
