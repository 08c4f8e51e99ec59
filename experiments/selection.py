"""From an experiment's definition to what really runs: the sequences, each tracker's runs, and what is missing."""
from __future__ import annotations

from dataclasses import dataclass, field, replace

from experiments.definition import Benchmark, Experiment, TrackerName
from pytracking.evaluation import SequenceList, Tracker, get_dataset
from pytracking.evaluation.environment import MissingPathError
from pytracking.evaluation.tracker import MissingWeightsError, UnknownTrackerError


@dataclass(frozen=True, kw_only=True)
class Selection:
    """How to scale an experiment down; None takes what the definition says."""

    runs: int | None = None
    trackers: tuple[str, ...] | None = None  # row labels, or TRACKER:PARAMETER
    sequences: tuple[str, ...] | None = None  # names
    dataset: str | None = None  # run every benchmark on this dataset instead, e.g. folder:PATH

    def __post_init__(self) -> None:
        if self.runs is not None and self.runs < 1:
            raise ValueError(f"--runs must be at least 1, not {self.runs}")


@dataclass
class Job:
    """One benchmark, ready to run: every tracker of it once a run, on every sequence."""

    benchmark: Benchmark
    sequences: SequenceList = field(default_factory=SequenceList)
    trackers: dict[str, list[Tracker]] = field(default_factory=dict)  # row label -> its runs
    problems: list[str] = field(default_factory=list)  # what is missing, with the remedy

    @property
    def all_trackers(self) -> list[Tracker]:
        return [tracker for runs in self.trackers.values() for tracker in runs]

    @property
    def frames(self) -> int:
        """Frames of one run of one tracker."""
        return sum(len(sequence) for sequence in self.sequences)


def jobs_of(experiment: Experiment, selection: Selection) -> list[Job]:
    """The experiment's benchmarks with what is there and what is not.

    Raises:
        ValueError: if the selection names a tracker or sequence that the experiment does not have.
    """
    _check_trackers(experiment, selection)
    jobs = [_job(experiment, benchmark, selection) for benchmark in experiment.benchmarks]
    if selection.sequences is not None and not any(job.problems for job in jobs):
        unknown = sorted(set(selection.sequences) - {sequence.name for job in jobs for sequence in job.sequences})
        if unknown:
            raise ValueError(f"--sequences: {', '.join(unknown)}: not in the datasets of '{experiment.name}'")
    return [job for job in jobs if job.problems or (job.trackers and len(job.sequences))]


def _check_trackers(experiment: Experiment, selection: Selection) -> None:
    labels = {label: text for benchmark in experiment.benchmarks for label, text in benchmark.trackers.items()}
    unknown = [name for name in selection.trackers or () if name not in labels and name not in labels.values()]
    if unknown:
        raise ValueError(
            f"--trackers: {', '.join(unknown)}: not in '{experiment.name}', which has: {', '.join(labels)}"
        )


def _job(experiment: Experiment, benchmark: Benchmark, selection: Selection) -> Job:
    if selection.dataset is not None:
        benchmark = replace(benchmark, dataset=selection.dataset, sequences=None)
    job = Job(benchmark)
    try:
        sequences = get_dataset(benchmark.dataset)
        for wanted in (benchmark.sequences, selection.sequences):
            if wanted is not None:
                sequences = SequenceList([sequence for sequence in sequences if sequence.name in wanted])
        job.sequences = sequences
    except (MissingPathError, OSError, ValueError) as error:
        job.problems.append(f"dataset '{benchmark.dataset}': {error}")
    for label, text in benchmark.trackers.items():
        if selection.trackers is not None and not {label, text} & set(selection.trackers):
            continue
        try:
            runs = [_tracker(text, label, run, experiment) for run in range(selection.runs or experiment.runs)]
            job.trackers[label] = runs
            _ = runs[0].weights
        except (MissingWeightsError, UnknownTrackerError) as error:
            job.problems.append(f"{label}: {error}")
    return job


def _tracker(text: str, label: str, run: int, experiment: Experiment) -> Tracker:
    name = TrackerName.parse(text)
    return Tracker(
        name.tracker, name.parameter, run, label, strict_weights=experiment.strict_weights, network=name.network
    )
