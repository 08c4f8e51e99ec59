"""Runs the memory probe for an experiment's rows and reports its table, differences and figure."""
from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pytracking.analysis.plots import save_figure
from pytracking.analysis.statistics import compare_paired, mean_and_interval
from pytracking.analysis.tables import Number, Table
from pytracking.evaluation.environment import env_settings
from pytracking.utils.files import write_text

from .definition import Experiment
from .memory_probe import MARGIN, SPANS, Schedule, remembered, usable_frames, walk_along
from .running import NothingToRunError
from .selection import Job

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FIRST_FILTER = "first frame's filter"
COMPARED = "exact"
Values = dict[str, dict[str, np.ndarray]]  # row label -> "past margin", "past hits", ... -> value per sequence (n,)


def run_memory_probe(experiment: Experiment, job: Job, schedule: Schedule | None = None) -> str:
    """Probes the job's learners, writes report.md, values.json and the figure, and returns the report."""
    schedule = schedule or Schedule()
    if job.problems:
        raise NothingToRunError("\n".join(map(str, job.problems)))
    long_enough = [sequence for sequence in job.sequences if len(usable_frames(sequence, schedule))]
    if not long_enough:
        raise NothingToRunError(f"the probe needs sequences with more than {schedule.shortest} frames with boxes")
    values = _probe(job, long_enough, schedule)
    names = [sequence.name for sequence in long_enough]
    tables = [value_table(values, names, schedule)]
    if COMPARED in values and len(values) > 1:
        tables.append(difference_table(values))
    made_by = f"Made by `{job.selection.run_command(experiment)}`."
    lines = [f"# {experiment.title}", "", made_by, ""]
    lines += [text for table in tables for text in (table.render("markdown"), "")]
    text = "\n".join([*lines, "![retention against adaptation](memory.png)"]) + "\n"
    name = "-".join(filter(None, [experiment.name, job.selection.file_name]))
    folder = Path(env_settings().results_path) / "reports" / name
    write_text(folder / "report.md", text)
    stored = {label: {kind: each.tolist() for kind, each in kinds.items()} for label, kinds in values.items()}
    write_text(folder / "values.json", json.dumps({"sequences": names, "values": stored}, indent=1))
    save_figure(draw_figure(values), folder / "memory.png")
    return f"{text}\nwritten: {folder}"


def _probe(job: Job, sequences: list, schedule: Schedule) -> Values:
    trackers = {label: runs[0].create_tracker() for label, runs in job.trackers.items()}
    base = next(iter(trackers.values()))
    rows = {FIRST_FILTER: base} | trackers
    columns: dict[str, dict[str, list[float]]] = {label: {} for label in rows}
    for number, sequence in enumerate(sequences, start=1):
        print(f"{number}/{len(sequences)} {sequence.name}: {len(sequence)} frames", flush=True)
        walk = walk_along(sequence, base, schedule)
        for label, tracker in rows.items():
            found = remembered(walk, tracker, schedule, learns=label != FIRST_FILTER)
            for span, margin in found.items():
                columns[label].setdefault(f"{span} margin", []).append(float(margin.mean()))
                columns[label].setdefault(f"{span} hits", []).append(float((margin > 0).mean()))
    return {label: {kind: np.array(each) for kind, each in kinds.items()} for label, kinds in columns.items()}


def value_table(values: Values, names: list[str], schedule: Schedule) -> Table:
    """Mean margins and hit rates over sequences, with their intervals."""
    kinds = [f"{span} {measure}" for measure in ("margin", "hits") for span in SPANS]
    table = Table(f"{len(names)} sequences: {', '.join(names)}", ["learner", *kinds])
    for label, found in values.items():
        table.rows.append([label, *(Number(*mean_and_interval(found[kind]), 3) for kind in kinds)])
    table.notes += [
        f"margin: {MARGIN}; hits: frames with a positive margin",
        f"past: {schedule.frames} frames spread over all that are more than {schedule.past} frames old; recent: the "
        f"last {schedule.frames}; next: the {schedule.frames} that follow; tested every {schedule.every} frames",
        "± : 95 % interval of the mean over sequences (Student's t)",
    ]
    return table


def difference_table(values: Values) -> Table:
    """The exact learner minus every other row, paired over sequences."""
    header = ["against", "past", "past, 95 %", "next", "next, 95 %", "better on (past)"]
    table = Table(f"{COMPARED} minus the others, margins", header)
    for label, found in values.items():
        if label != COMPARED:
            past, following = (
                compare_paired(values[COMPARED][kind], found[kind]) for kind in ("past margin", "next margin")
            )
            cells = [Number(past.difference, decimals=3), past.interval]
            cells += [Number(following.difference, decimals=3), following.interval, past.wins]
            table.rows.append([label, *cells])
    table.notes.append("intervals: bootstrap over sequences, not corrected for the number of comparisons")
    return table


def draw_figure(values: Values) -> Figure:
    """Draws each learner's margin on past frames against its margin on next frames, with 95 % intervals."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 4.2), layout="constrained")
    axes = figure.add_subplot()
    points = []
    for place, (label, found) in enumerate(values.items()):
        (x, across), (y, up) = (mean_and_interval(found[kind]) for kind in ("next margin", "past margin"))
        colour, marker = f"C{place % 10}", "osD"[place // 5 % 3]
        if not np.isnan(across):
            axes.errorbar(x, y, xerr=across, yerr=up, fmt="none", ecolor=colour, elinewidth=0.4, alpha=0.5)
        axes.plot(x, y, marker, markersize=5, color=colour, label=label)
        points.append((x, y))
    # Points, not intervals, set the view: intervals reflect differences between sequences, and may exceed the spread.
    room = 0.15 * np.ptp(points, axis=0).max() + 0.02
    (left, bottom), (right, top) = np.min(points, axis=0) - room, np.max(points, axis=0) + room
    axes.set(xlim=(left, right), ylim=(bottom, top))
    axes.set_xlabel("adaptation: margin on the next frames", fontsize=8)
    axes.set_ylabel("retention: margin on past frames", fontsize=8)
    axes.tick_params(labelsize=7)
    axes.grid(color="0.88", linewidth=0.6)
    axes.legend(fontsize=7, loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
    return figure
