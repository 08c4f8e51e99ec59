"""Analysis functions with pytracking's names and arguments."""
import json
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from ltr.errors import UserError
from pytracking.analysis import plot_results as ours
from pytracking.analysis.evaluate import Evaluation
from pytracking.analysis.playback import write_page
from pytracking.analysis.plots import save_figure
from pytracking.analysis.tables import Number, Table
from pytracking.evaluation.environment import env_settings
from pytracking.evaluation.results import boxes_file, read_boxes
from pytracking.evaluation.sequence import Sequence
from pytracking.evaluation.tracker import Tracker


def extract_results(
    trackers: Iterable[Tracker],
    dataset: Iterable[Sequence],
    report_name: str,
    skip_missing_seq: bool = False,
    plot_bin_gap: float = 0.05,
    exclude_invalid_frames: bool = False,
    verbose: bool = True,
) -> Evaluation:
    """Scores results on disk; writes no file, as scores are kept in the cache."""
    return ours.evaluate_results(
        trackers,
        dataset,
        merge_results=False,
        skip_missing_seq=skip_missing_seq,
        plot_bin_gap=plot_bin_gap,
        exclude_invalid_frames=exclude_invalid_frames,
    )


def print_results_per_attribute(
    trackers: Iterable[Tracker],
    datasets: Mapping[str, Iterable[Sequence]],
    report_name: str,
    merge_results: bool = False,
    verbose: bool = False,
    **kwargs: object,
) -> Table:
    """Prints each tracker's AUC on the sequences of each attribute; see ``get_dataset_attributes``."""
    trackers = list(trackers)
    table = Table(report_name, ["Attribute", "Sequences"])
    for attribute, sequences in datasets.items():
        evaluation = ours.evaluate_results(trackers, list(sequences), merge_results, **kwargs)
        scores = [float(np.mean(evaluation.summary(tracker).auc)) for tracker in evaluation.trackers]
        table.header = ["Attribute", "Sequences", *(tracker.name for tracker in evaluation.trackers)]
        table.rows.append([attribute, len(evaluation.sequences), *(Number(score, decimals=3) for score in scores)])
    print(table)
    return table


def playback_results(trackers: Iterable[Tracker], sequence: Sequence) -> Path:
    """Writes an HTML page that plays the results of a sequence; returns its path."""
    boxes = {one.display_name: read_boxes(boxes_file(one.results_dir, sequence.name)) for one in trackers}
    path = env_settings().require("result_plot_path", "playback") / f"{sequence.name}.html"
    write_page(path, sequence, boxes)
    print(f"page: {path} (open it in a browser)")
    return path


def plot_got_success(trackers: Iterable[Tracker], report_name: str) -> Path:
    """Plots the success curves of GOT-10k's server reports, ``<got_reports_path>/<display name>.json``."""
    from matplotlib.figure import Figure

    folder = env_settings().require("got_reports_path", "plot_got_success")
    figure = Figure(figsize=(5, 4), layout="constrained")
    axes = figure.add_subplot(xlabel="Overlap threshold", ylabel="Success rate", title=report_name)
    for tracker in trackers:
        curve = _got_curve(folder / f"{tracker.display_name.replace('/', '_')}.json")
        axes.plot(np.linspace(0, 1, curve.size), curve, label=f"{tracker.display_name} [{curve.mean():.3f}]")
    axes.legend()
    path = env_settings().require("result_plot_path", "plots") / report_name / "got10k_success.png"
    save_figure(figure, path)
    return path


def _got_curve(file: Path) -> np.ndarray:
    """Reads the success rates from a report of GOT-10k's server, whose single entry is the tracker's."""
    if not file.exists():
        raise UserError(f"{file} does not exist: save the report of GOT-10k's server under this name")
    try:
        (report,) = json.loads(file.read_text(encoding="utf-8")).values()
        return np.asarray(report["succ_curve"], dtype=float)
    except (ValueError, AttributeError, TypeError, KeyError) as error:
        raise UserError(f"{file} is not a report of GOT-10k's server: expected one entry with 'succ_curve'") from error
