"""Computes the paper's VOT measures (A, R, R_S, EAO, real-time EAO) of a workspace, with the toolkit's own analyses."""
import json
import math
import warnings
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from vot.analysis import Analysis, is_special
from vot.analysis.accuracy import AverageAccuracy
from vot.analysis.supervised import AverageAccuracyRobustness, EAOScore
from vot.dataset import Sequence
from vot.experiment import Experiment, SupervisedExperiment, UnsupervisedExperiment
from vot.tracker import Tracker, Trajectory
from vot.workspace import Workspace

from pytracking.utils.files import finite, write_text
from pytracking.vot_integration.execution import missing_repetitions, open_workspace
from pytracking.vot_integration.running import chosen_trackers

RELIABILITY_FRAMES = 100  # S of R_S in the paper


@dataclass
class SequenceRow:
    """A tracker on one sequence of the supervised experiment."""

    sequence: str
    length: int
    accuracy: float
    failures: float  # mean over the repetitions


@dataclass
class TrackerRow:
    """One row of the table; values are None if there are no results."""

    tracker: str
    label: str
    eao: float | None = None
    accuracy: float | None = None
    robustness: float | None = None  # the toolkit's R: mean failures per sequence, weighted by length
    failures: float | None = None  # the paper's R_fr: mean failures per sequence, unweighted
    reliability: float | None = None  # the paper's R_S
    realtime_eao: float | None = None
    average_overlap: float | None = None  # of the run without resets
    frames_per_second: float | None = None
    eao_curve: list[float] = field(default_factory=list)
    sequences: list[SequenceRow] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def minus_log_reliability(self) -> float | None:
        """R_S as printed in the paper's tables."""
        return None if self.reliability is None else 0.0 - math.log(self.reliability)


@dataclass
class VotReport:
    """All trackers of a workspace."""

    workspace: str
    stack: str
    eao_interval: tuple[int, int] | None
    rows: list[TrackerRow]

    def write_json(self, path: str | Path) -> None:
        """Writes everything with unrounded numbers; missing values are null."""
        write_text(path, json.dumps(finite(asdict(self)), indent=2) + "\n")


def make_report(folder: str | Path, trackers: Iterable[str] = (), *, partial: bool = False) -> VotReport:
    """Analyses the results of a workspace; missing results give gaps and notes, not errors.

    ``partial`` scores the existing repetitions and sequences even if the stack asks for more.
    """
    workspace = open_workspace(folder)
    rows = [tracker_row(workspace, tracker, partial=partial) for tracker in chosen_trackers(workspace, trackers)]
    main = supervised_experiment(workspace, realtime=False)
    score = None if main is None else _configured(main, EAOScore)
    interval = None if score is None else (score.low, score.high)
    return VotReport(workspace.directory, workspace.stack.title, interval, rows)


def tracker_row(workspace: Workspace, tracker: Tracker, *, partial: bool = False) -> TrackerRow:
    """Computes all measures of one tracker; ``partial`` as in :func:`make_report`."""
    row = TrackerRow(tracker.reference, tracker.label)

    def scored(experiment: Experiment | None) -> tuple[Experiment, list[Sequence]] | None:
        return _scored_sequences(experiment, tracker, list(workspace.dataset), row, partial)

    if (main := scored(supervised_experiment(workspace, realtime=False))) is not None:
        _accuracy_and_robustness(*main, tracker, row)
        row.eao, row.eao_curve = expected_average_overlap(*main, tracker, row)
        row.frames_per_second = _speed(*main, tracker)
    if (timed := scored(supervised_experiment(workspace, realtime=True))) is not None:
        row.realtime_eao, _ = expected_average_overlap(*timed, tracker, row)
    free = next((e for e in workspace.stack if isinstance(e, UnsupervisedExperiment) and e.realtime is None), None)
    if (free := scored(free)) is not None:
        analysis = _configured(free[0], AverageAccuracy) or AverageAccuracy()
        row.average_overlap = _chain(analysis, *free, tracker)[-1][0, 0][0]
    return row


def supervised_experiment(workspace: Workspace, *, realtime: bool) -> Experiment | None:
    """The stack's reset-based experiment with or without a real-time limit."""
    matching = (e for e in workspace.stack if isinstance(e, SupervisedExperiment))
    return next((e for e in matching if (e.realtime is not None) == realtime), None)


def expected_average_overlap(
    experiment: Experiment, sequences: list[Sequence], tracker: Tracker, row: TrackerRow
) -> tuple[float | None, list[float]]:
    """EAO and its curve; EAO is None, with a note, if no run is long enough for the stack's interval."""
    score = _configured(experiment, EAOScore)
    if score is None:
        return None, []
    curves, scores = _chain(score, experiment, sequences, tracker)
    curve = [float(value) for value in curves[0, 0][0]]
    where = f"{experiment.identifier}: EAO averages over lengths {score.low} to {score.high}"
    if len(curve) <= score.low:
        row.notes.append(f"{where}, but no run is longer than {len(curve)} (vot init --eao-interval sets shorter ones)")
        return None, curve
    if len(curve) <= score.high:
        row.notes.append(f"{where}, but the longest run has {len(curve)} frames")
    return scores[0, 0][0], curve


def reliability(failures: float, length: float) -> float:
    """The paper's R_S: the probability of S frames without failure, from mean failures and length per sequence."""
    return math.exp(-RELIABILITY_FRAMES * failures / length)


def _accuracy_and_robustness(
    experiment: Experiment, sequences: list[Sequence], tracker: Tracker, row: TrackerRow
) -> None:
    analysis = _configured(experiment, AverageAccuracyRobustness) or AverageAccuracyRobustness()
    each, average = _chain(analysis, experiment, sequences, tracker)
    row.accuracy, row.robustness, _, length = average[0, 0]
    for index, sequence in enumerate(sequences):
        accuracy, failures, _, frames = each[0, index]
        row.sequences.append(SequenceRow(sequence.name, frames, float(accuracy), float(failures)))
    # The toolkit weights failures by the length of the sequence; the paper and the VOT reports do not.
    row.failures = float(np.mean([part.failures for part in row.sequences]))
    row.reliability = reliability(row.failures, length)


def _chain(analysis: Analysis, experiment: Experiment, sequences: list[Sequence], tracker: Tracker) -> list[Any]:
    """Computes an analysis of the toolkit without its cache; returns the grid of its only dependency, and its own."""
    (dependency,) = analysis.dependencies()
    first = dependency.compute(experiment, [tracker], sequences, [])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # the mean over an EAO interval without any lengths
        second = analysis.compute(experiment, [tracker], sequences, [first])
    return [first, second]


def _configured(experiment: Experiment, kind: type[Analysis]) -> Any | None:
    """The stack's analysis of this kind, with the stack's settings."""
    return next((analysis for analysis in experiment.analyses if isinstance(analysis, kind)), None)


def _scored_sequences(
    experiment: Experiment | None, tracker: Tracker, dataset: list[Sequence], row: TrackerRow, partial: bool
) -> tuple[Experiment, list[Sequence]] | None:
    """The experiment and the sequences to score; None, and a note in the row, if results are missing."""
    if experiment is None:
        return None
    sequences = experiment.transform(dataset)
    unfinished = [s for s in sequences if not experiment.scan(tracker, s)[0]]
    lacking = {s.name: missing_repetitions(experiment, tracker, s) for s in unfinished}
    if not lacking:
        return experiment, sequences
    available = [s for s in sequences if len(lacking.get(s.name, [])) < experiment.repetitions]
    if not available:
        row.notes.append(f"{experiment.identifier}: no results")
        return None
    remedy = "scored as they are"
    if not partial:
        remedy = "not scored; vot run computes the rest, vot report --partial scores the existing ones"
    row.notes.append(f"{experiment.identifier}: {_available_results(experiment, sequences, lacking)} ({remedy})")
    return (experiment, available) if partial else None


def _available_results(experiment: Experiment, sequences: list[Sequence], lacking: dict[str, list[int]]) -> str:
    absent = [name for name, missing in lacking.items() if len(missing) == experiment.repetitions]
    counts = sorted({experiment.repetitions - len(missing) for name, missing in lacking.items() if name not in absent})
    parts = []
    if counts:
        shown = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
        parts.append(f"{shown} of {experiment.repetitions} repetitions of {len(lacking) - len(absent)} sequences")
    if absent:
        names = ", ".join(absent[:5]) + (", …" if len(absent) > 5 else "")
        parts.append(f"{len(sequences) - len(absent)} of {len(sequences)} sequences (without {names})")
    return "only " + " and ".join(parts)


def _speed(experiment: Experiment, sequences: list[Sequence], tracker: Tracker) -> float | None:
    """Frames per second, without initialisations."""
    seconds = [
        float(trajectory.properties(index)["time"])
        for sequence in sequences
        for trajectory in experiment.gather(tracker, sequence)
        for index, region in enumerate(trajectory.regions())
        if "time" in trajectory.properties(index) and not is_special(region, Trajectory.INITIALIZATION)
    ]
    return len(seconds) / sum(seconds) if sum(seconds) > 0 else None
