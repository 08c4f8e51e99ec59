"""Turns an experiment's definition into jobs: its sequences, each tracker's runs, and problems such as missing data."""
from __future__ import annotations

import hashlib
import shlex
from dataclasses import dataclass, field, replace
from pathlib import Path

from ltr.errors import UserError
from pytracking.evaluation import SequenceList, Tracker, get_dataset
from pytracking.evaluation.reference import TrackerReference
from pytracking.utils.names import file_stem

from .definition import Benchmark, Experiment


@dataclass(frozen=True, kw_only=True)
class Selection:
    """How an experiment is scaled down; None leaves the definition's value."""

    runs: int | None = None
    trackers: tuple[str, ...] | None = None  # row labels, or TRACKER:PARAMETER
    sequences: tuple[str, ...] | None = None  # names
    dataset: str | None = None  # run every benchmark on this dataset instead, e.g. folder:PATH

    def __post_init__(self) -> None:
        if self.runs is not None and self.runs < 1:
            raise UserError(f"--runs must be at least 1, not {self.runs}")

    def differing_from(self, experiment: Experiment) -> Selection:
        """A copy in which everything that equals the experiment's definition is None."""
        rows = [row for benchmark in experiment.benchmarks for row in benchmark.trackers.items()]
        return replace(
            self,
            runs=None if self.runs == experiment.runs else self.runs,
            trackers=None if all(self.has_row(*row) for row in rows) else self.trackers,
        )

    def has_row(self, label: str, text: str) -> bool:
        """Whether a row is selected, by its label or its TRACKER:PARAMETER."""
        return self.trackers is None or label in self.trackers or text in self.trackers

    @property
    def other_data(self) -> bool:
        """Whether the sequences differ from the experiment's, so that published numbers are not comparable."""
        return self.sequences is not None or self.dataset is not None

    def described(self, experiment: Experiment) -> str:
        """The differences from the experiment, for titles; empty if there are none."""
        parts = [] if self.runs is None else [f"{self.runs} instead of {experiment.runs} runs"]
        for kind, names in (("trackers", self.trackers), ("sequences", self.sequences)):
            if names is not None:
                parts.append(f"only the {kind} {', '.join(names)}" if len(names) <= 5 else f"only {len(names)} {kind}")
        return "; ".join(parts + ([] if self.dataset is None else [f"on {self.dataset}"]))

    @property
    def file_name(self) -> str:
        """A folder name, unique for every selection and empty for the whole experiment."""
        parts = [] if self.runs is None else [f"runs{self.runs}"]
        named = {"trackers": self.trackers, "sequences": self.sequences}
        parts += [f"{kind}{len(names)}" for kind, names in named.items() if names is not None]
        parts += [] if self.dataset is None else [f"on_{short_name(self.dataset)}"]
        if any(value is not None for value in (self.trackers, self.sequences, self.dataset)):
            content = repr((sorted(self.trackers or ()), sorted(self.sequences or ()), self.dataset))
            parts.append(hashlib.blake2b(content.encode(), digest_size=4).hexdigest())
        return "-".join(parts)

    def run_command(self, experiment: Experiment) -> str:
        """The command that reproduces the results, without this machine's folders."""
        words = ["pytracking experiments run", experiment.name]
        words += [] if self.runs is None else ["--runs", str(self.runs)]
        for flag, values in (("--trackers", self.trackers), ("--sequences", self.sequences)):
            words += [] if values is None else [flag, *(shlex.quote(value) for value in values)]
        return " ".join(words + ([] if self.dataset is None else ["--dataset", shlex.quote(self.dataset)]))


def short_name(dataset: str) -> str:
    """A dataset's name for use in file names; of a path only the last part."""
    kind, _, path = dataset.partition(":")
    return file_stem(f"{kind}_{Path(path).name}" if path else kind)


@dataclass(frozen=True)
class Problem:
    """Something that is missing, with its remedy."""

    message: str
    label: str | None = None  # the row that cannot run; None: the whole benchmark cannot run

    def __str__(self) -> str:
        return self.message if self.label is None else f"{self.label}: {self.message}"


@dataclass
class Job:
    """One benchmark, ready to run: each tracker once per run, on every sequence."""

    benchmark: Benchmark
    sequences: SequenceList = field(default_factory=SequenceList)
    trackers: dict[str, list[Tracker]] = field(default_factory=dict)  # row label -> its runs
    problems: list[Problem] = field(default_factory=list)
    selection: Selection = field(default_factory=Selection)  # how it differs from the experiment
    defined_dataset: str = ""  # the benchmark's dataset in the definition, which --dataset may have replaced

    @property
    def all_trackers(self) -> list[Tracker]:
        return [tracker for runs in self.trackers.values() for tracker in runs]

    def is_blocked(self, label: str) -> bool:
        """Whether a row cannot run because its tracker or network is missing."""
        return any(problem.label == label for problem in self.problems)


def jobs_of(experiment: Experiment, selection: Selection) -> list[Job]:
    """The experiment's benchmarks as jobs; raises UserError if the selection names unknown trackers or sequences."""
    _check_trackers(experiment, selection)
    selection = selection.differing_from(experiment)
    jobs = [_job(experiment, benchmark, selection) for benchmark in experiment.benchmarks]
    if selection.sequences is not None and not any(job.problems for job in jobs):
        unknown = sorted(set(selection.sequences) - {sequence.name for job in jobs for sequence in job.sequences})
        if unknown:
            raise UserError(f"--sequences: {', '.join(unknown)}: not in the datasets of '{experiment.name}'")
    return [job for job in jobs if job.problems or (job.trackers and len(job.sequences))]


def _check_trackers(experiment: Experiment, selection: Selection) -> None:
    labels = {label: text for benchmark in experiment.benchmarks for label, text in benchmark.trackers.items()}
    unknown = [name for name in selection.trackers or () if name not in labels and name not in labels.values()]
    if unknown:
        raise UserError(
            f"--trackers: {', '.join(unknown)}: not in '{experiment.name}', which has: {', '.join(labels)}"
        )


def _job(experiment: Experiment, benchmark: Benchmark, selection: Selection) -> Job:
    defined = benchmark.dataset
    if selection.dataset is not None:
        benchmark = replace(benchmark, dataset=selection.dataset, sequences=None)
    job = Job(benchmark, selection=selection, defined_dataset=defined)
    try:
        sequences = get_dataset(benchmark.dataset)
        for wanted in (benchmark.sequences, selection.sequences):
            if wanted is not None:
                sequences = SequenceList([sequence for sequence in sequences if sequence.name in wanted])
        job.sequences = sequences
    except (UserError, OSError) as error:
        job.problems.append(Problem(f"dataset '{benchmark.dataset}': {error}"))
    for label, text in benchmark.trackers.items():
        if not selection.has_row(label, text):
            continue
        try:
            runs = [_tracker(text, label, run, experiment) for run in range(selection.runs or experiment.runs)]
            job.trackers[label] = runs
            _ = runs[0].weights  # raises UserError if the network is missing
        except UserError as error:
            job.problems.append(Problem(str(error), label))
    return job


def _tracker(text: str, label: str, run: int, experiment: Experiment) -> Tracker:
    name, strict = TrackerReference.parse(text), experiment.strict_weights
    return Tracker(name.tracker, name.parameters, run, label, strict_weights=strict, network=name.network)
