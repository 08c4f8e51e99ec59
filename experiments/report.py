"""Reports our numbers next to the paper's: Markdown, LaTeX and figures."""
import math
from pathlib import Path

from ltr.errors import UserError
from pytracking.analysis.plots import draw_plot, save_figure
from pytracking.analysis.report import hard_sequences
from pytracking.analysis.rules import RULES
from pytracking.analysis.statistics import mean_and_interval
from pytracking.analysis.tables import Number, Table
from pytracking.evaluation.environment import env_settings
from pytracking.utils.files import write_text

from .comparison import MOST_SEQUENCES, difference_table, draw_differences, sequence_table
from .definition import Experiment
from .scoring import JobScores, score_job
from .selection import Job, Selection, short_name
from .vot_protocol import score_vot_job

DIFFERS = "≠"  # marks a mean whose 95 % interval does not contain the published value


def write_report(experiment: Experiment, jobs: list[Job], folder: Path | None = None) -> str:
    """Writes ``report.md``, ``report.tex`` and the figures; returns the Markdown.

    The default folder is ``<results_path>/reports/<experiment>``, with the selection appended to its name if the
    experiment is scaled down. Raises UserError if the folder holds the report of another selection.
    """
    selection = jobs[0].selection if jobs else Selection()
    name = "-".join(filter(None, [experiment.name, selection.file_name]))
    folder = Path(folder) if folder else env_settings().results_path / "reports" / name
    made_by = f"Made by `{selection.run_command(experiment)}`."
    _check_folder(folder, made_by)
    scaled = selection.described(experiment)
    markdown, latex = [f"# {experiment.title}" + (f" (scaled down: {scaled})" if scaled else ""), "", made_by, ""], []
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
        for path in _figures(experiment, scores, folder, f"{number}_{short_name(job.benchmark.dataset)}"):
            markdown += [f"![{path.stem}]({path.name})", ""]
    text = "\n".join(markdown).rstrip() + "\n"
    write_text(folder / "report.md", text)
    write_text(folder / "report.tex", "\n".join(latex))
    return text + f"\nwritten: {folder}"


def _check_folder(folder: Path, made_by: str) -> None:
    """Prevents a scaled-down report from replacing the full one, and vice versa."""
    path = folder / "report.md"
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    before = next((line for line in lines if line.startswith("Made by `")), made_by)
    if before != made_by:
        raise UserError(f"{path} holds another report ({before}), this one is: {made_by} Choose another --output")


def _tables(experiment: Experiment, job: Job, scores: JobScores) -> list[Table]:
    if not scores.values:
        return []
    tables = [value_table(experiment, job, scores)]
    reference = _reference(scores)
    if scores.evaluation is not None and reference is not None:
        tables.append(difference_table(scores.evaluation, reference))
    if scores.evaluation is not None and 1 < len(scores.evaluation.names) <= MOST_SEQUENCES:
        tables.append(sequence_table(scores.evaluation))
    return tables


def _reference(scores: JobScores) -> str | None:
    """The row that all others are compared with: ours, or None if there are no others."""
    ours = next((label for label in scores.values if label.startswith("RLS-")), None)
    return ours if len(scores.values) > 1 else None


def value_table(experiment: Experiment, job: Job, scores: JobScores) -> Table:
    """One row per tracker: mean and interval of each metric, next to the published number."""
    published = experiment.published_values()
    metrics, dataset = job.benchmark.metrics, job.benchmark.dataset
    # The paper's numbers refer to whole benchmarks.
    in_paper = [
        metric
        for metric in metrics
        if not job.selection.other_data and any(f"{dataset}/{metric}" in row for row in published.values())
    ]
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
    if job.benchmark.protocol == "vot":
        table.notes.append("reset-based protocol, scored by the official VOT toolkit")
    else:
        rule = RULES.get(job.benchmark.rule)
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


def _figures(experiment: Experiment, scores: JobScores, folder: Path, name: str) -> list[Path]:
    """Draws the experiment's figure as PNG and PDF; returns the PNG's path."""
    if experiment.figure is None or scores.evaluation is None:
        return []
    evaluation, reference, title = scores.evaluation, _reference(scores), None
    if experiment.figure != "success" and reference is None:
        return []
    if experiment.figure == "hard":
        evaluation = hard_sequences(evaluation, reference)
        if not evaluation.sequences:
            return []
        title = f"{len(evaluation.sequences)} hard sequences"
    if experiment.figure == "differences":
        figure, what = draw_differences(evaluation, reference), "differences"
    else:
        figure, what = draw_plot(evaluation, "success", title), "success"
    paths = [folder / f"{name}_{what}.{suffix}" for suffix in ("png", "pdf")]
    for path in paths:
        save_figure(figure, path)
    return paths[:1]


def _server_note(job: Job) -> str:
    first_runs = [runs[0] for label, runs in job.trackers.items() if not job.is_blocked(label)]
    folders = ", ".join(sorted({tracker.results_dir.name for tracker in first_runs})) or "none yet"
    return (
        f"**{job.benchmark.dataset}**: {job.benchmark.why}. `pytracking pack` packs a run for submission; "
        f"result folders: {folders}."
    )
