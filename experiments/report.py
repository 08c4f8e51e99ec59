"""Our numbers beside the paper's: Markdown, LaTeX and figures."""
from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from experiments.definition import Experiment
from experiments.scoring import JobScores, score_job
from experiments.selection import Job
from experiments.vot_protocol import score_vot_job
from pytracking.analysis.plots import draw_plot, save_figure
from pytracking.analysis.report import hard_sequences
from pytracking.analysis.rules import RULES
from pytracking.analysis.statistics import compare_paired, mean_and_interval
from pytracking.analysis.tables import Number, Table
from pytracking.evaluation.environment import env_settings
from pytracking.utils.files import write_text

DIFFERS = "≠"  # marks a mean whose 95 % interval does not contain the published value


def write_report(experiment: Experiment, jobs: list[Job], folder: Path | None = None) -> str:
    """Writes ``report.md``, ``report.tex`` and the figures; returns the Markdown.

    Args:
        experiment: what was run.
        jobs: its benchmarks, selected as for ``run``.
        folder: by default ``<results_path>/reports/<experiment>``.
    """
    folder = Path(folder) if folder else env_settings().results_path / "reports" / experiment.name
    markdown, latex = [f"# {experiment.title}", ""], []
    markdown += [f"{note}\n" for note in experiment.notes]
    for number, job in enumerate(jobs, start=1):
        if job.benchmark.protocol == "server":
            markdown += [_server_note(job), ""]
            continue
        scores = score_vot_job(job) if job.benchmark.protocol == "vot" else score_job(job)
        for table in _tables(experiment, job, scores):
            markdown += [table.render("markdown"), ""]
            latex += [table.render("latex"), ""]
        markdown += [f"- {label}: {why}" for label, why in scores.unfinished.items()] + [""]
        for path in _figures(experiment, scores, folder, f"{number}_{_file_name(job.benchmark.dataset)}"):
            markdown += [f"![{path.stem}]({path.name})", ""]
    text = "\n".join(markdown).rstrip() + "\n"
    write_text(folder / "report.md", text)
    write_text(folder / "report.tex", "\n".join(latex))
    return text + f"\nwritten: {folder}"


def _tables(experiment: Experiment, job: Job, scores: JobScores) -> list[Table]:
    if not scores.values:
        return []
    tables = [value_table(experiment, job, scores)]
    reference = next((label for label in scores.values if label.startswith("RLS-")), None)
    if scores.evaluation is not None and reference is not None and len(scores.values) > 1:
        tables.append(difference_table(scores, reference))
    return tables


def value_table(experiment: Experiment, job: Job, scores: JobScores) -> Table:
    """One row a tracker: mean and interval of each metric, the published number beside it."""
    published = experiment.published_values()
    metrics, dataset = job.benchmark.metrics, job.benchmark.dataset
    in_paper = [metric for metric in metrics if any(f"{dataset}/{metric}" in row for row in published.values())]
    header = ["Tracker", "Runs"]
    for metric in metrics:
        header += [metric, "paper"] if metric in in_paper else [metric]
    table = Table(f"{dataset}: {len(job.sequences)} sequences", [*header, "fps", "MiB"], best=metrics)
    for label, values in scores.values.items():
        cells: list = [label, len(job.trackers[label])]
        for metric in metrics:
            mean, width = mean_and_interval(values[metric])
            cells.append(Number(mean, width, 3))
            if metric in in_paper:
                cells.append(_published_cell(published.get(label, {}).get(f"{dataset}/{metric}"), mean, width))
        speed = Number(scores.fps.get(label, float("nan")), decimals=1)
        table.rows.append([*cells, speed, Number(scores.memory.get(label, float("nan")), decimals=0)])
    rule = RULES.get(job.benchmark.rule) if job.benchmark.protocol == "ope" else None
    table.notes.append(f"rule '{job.benchmark.rule}'" + (f": {rule.summary}" if rule else ""))
    table.notes.append("± : 95 % interval of the mean over runs (Student's t); MiB: peak memory")
    if in_paper:
        table.notes.append(f"{DIFFERS} : the published value lies outside our interval")
    return table


def _published_cell(value: float | None, mean: float, width: float) -> str:
    if value is None:
        return "-"
    differs = not math.isnan(width) and abs(value - mean) > width
    return f"{value:.3f}" + (f" {DIFFERS}" if differs else "")


def difference_table(scores: JobScores, reference: str) -> Table:
    """The reference against every other row, paired over sequences: how much, and how sure."""
    evaluation = scores.evaluation
    table = Table(
        f"{reference} minus the others: success (AUC)",
        ["against", "difference", "95 % interval", "p", "better on", "worse on", "equal on"],
    )
    of = {tracker.name: evaluation.sequence_scores(tracker).mean(axis=0) for tracker in evaluation.trackers}
    for label, others in of.items():
        if label == reference:
            continue
        result = compare_paired(of[reference], others)
        interval = f"[{result.low:+.3f}, {result.high:+.3f}]"
        numbers = [Number(result.difference, decimals=3), interval, Number(result.p_value, decimals=3)]
        table.rows.append([label, *numbers, result.wins, result.losses, result.ties])
    table.notes.append("over sequences (mean over runs): bootstrap interval, two-sided sign-flip permutation test")
    return table


def _figures(experiment: Experiment, scores: JobScores, folder: Path, name: str) -> list[Path]:
    if experiment.figure is None or scores.evaluation is None:
        return []
    evaluation, title = scores.evaluation, None
    if experiment.figure == "hard":
        reference = next((label for label in scores.values if label.startswith("RLS-")), None)
        if reference is None:
            return []
        evaluation = hard_sequences(evaluation, reference)
        if not evaluation.sequences:
            return []
        title = f"{len(evaluation.sequences)} hard sequences"
    figure = draw_plot(evaluation, "success", title)
    paths = [folder / f"{name}_success.{suffix}" for suffix in ("png", "pdf")]
    for path in paths:
        save_figure(figure, path)
    return paths[:1]


def _server_note(job: Job) -> str:
    rows = ", ".join(np.unique([str(tracker.results_dir.name) for tracker in _runnable(job)])) or "none yet"
    return (
        f"**{job.benchmark.dataset}**: {job.benchmark.why}. `python -m pytracking pack` makes the submission of a run; "
        f"result folders: {rows}."
    )


def _runnable(job: Job) -> list:
    blocked = {problem.partition(":")[0] for problem in job.problems}
    return [tracker for label, runs in job.trackers.items() if label not in blocked for tracker in runs[:1]]


def _file_name(dataset: str) -> str:
    return "".join(letter if letter.isalnum() or letter in "-_" else "_" for letter in dataset).strip("_")
