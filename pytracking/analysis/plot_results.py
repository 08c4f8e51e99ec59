"""pytracking's reporting functions with their original names and arguments, for scripts written for pytracking.

``print_results``, ``print_per_sequence_results`` and ``plot_results`` take pytracking's keywords: ``merge_results``
(default False, as in pytracking), ``plot_bin_gap``, ``exclude_invalid_frames``, ``skip_missing_seq`` and
``force_evaluation``. Scores are printed from 0 to 1, as everywhere in this project. New code should use
:func:`.evaluate.evaluate` and the tables and plots of :mod:`.report` and :mod:`.plots`, which support intervals,
formats and rules.
"""
from collections.abc import Iterable
from pathlib import Path

from pytracking.analysis import plots, report
from pytracking.analysis.evaluate import Evaluation, evaluate
from pytracking.analysis.result_sets import ResultSet
from pytracking.analysis.rules import get_rule
from pytracking.analysis.tables import Table
from pytracking.evaluation.sequence import Sequence
from pytracking.evaluation.tracker import Tracker
from pytracking.utils.upstream import upstream_names

Trackers = Iterable[Tracker | ResultSet]


def print_results(
    trackers: Trackers,
    dataset: Iterable[Sequence],
    report_name: str,
    merge_results: bool = False,
    plot_types: str | Iterable[str] = ("success",),
    **kwargs: object,
) -> Table:
    """Prints one row per tracker, or per run."""
    columns = [column for kind in _kinds(plot_types) for column in report.PLOT_COLUMNS[kind]]
    evaluation = evaluate_results(trackers, dataset, merge_results, **kwargs)
    return _printed(report.overall_table(evaluation, report_name, columns))


def print_per_sequence_results(
    trackers: Trackers, dataset: Iterable[Sequence], report_name: str, merge_results: bool = False, **kwargs: object
) -> Table:
    """Prints one row per sequence."""
    evaluation = evaluate_results(trackers, dataset, merge_results, **kwargs)
    return _printed(report.per_sequence_table(evaluation, report_name))


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
    evaluation = evaluate_results(trackers, dataset, merge_results, **kwargs)
    return plots.save_plots(evaluation, report_name, _kinds(plot_types), folder=folder)


def _kinds(plot_types: str | Iterable[str]) -> list[str]:
    return [plot_types] if isinstance(plot_types, str) else list(plot_types)


def _printed(table: Table) -> Table:
    print(table)
    return table


def evaluate_results(
    trackers: Trackers,
    dataset: Iterable[Sequence],
    merge_results: bool = False,
    *,
    plot_bin_gap: float | None = None,
    exclude_invalid_frames: bool | None = None,
    skip_missing_seq: bool = False,
    force_evaluation: bool = False,
) -> Evaluation:
    """Scores results with pytracking's rule and keywords."""
    return evaluate(
        trackers,
        dataset,
        get_rule("pytracking", gap=plot_bin_gap, exclude_invalid=exclude_invalid_frames),
        merge=merge_results,
        missing="skip" if skip_missing_seq else "error",
        lengths="rule",
        cache=not force_evaluation,
    )


__getattr__ = upstream_names(__name__)
