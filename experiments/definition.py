"""Definition of an experiment: trackers, benchmarks, number of runs, and the paper's numbers."""
import json
from dataclasses import dataclass
from pathlib import Path

from pytracking.analysis.rules import DEFAULT_RULE

PUBLISHED = Path(__file__).parent / "published"


@dataclass(frozen=True, kw_only=True)
class Benchmark:
    """One dataset of an experiment, with the trackers that run on it.

    Trackers are listed per benchmark because the paper chooses parameters per benchmark (learning rate 3e-2 on
    short-term benchmarks, 3e-3 on long-term ones).
    """

    dataset: str  # a name for get_dataset, also the prefix of the published columns
    trackers: dict[str, str]  # row label as in the paper -> "tracker:parameters[@network]"
    sequences: tuple[str, ...] | None = None  # subset of the dataset; ignored if --dataset replaces the dataset
    metrics: tuple[str, ...]  # columns, e.g. "success", "precision"; see experiments.scoring
    rule: str = DEFAULT_RULE  # evaluator rule, printed with every table
    protocol: str = "ope"  # "ope": one pass, scored here; "server": packed for upload; "vot": resets; "memory": probe
    why: str = ""  # a remark for the report


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """One table or figure of the paper, or one of our own."""

    name: str
    title: str
    benchmarks: tuple[Benchmark, ...]
    runs: int  # repetitions with different seeds, as in the paper
    label: str = ""  # the table's or figure's label in the paper
    published: str | None = None  # file in experiments/published
    figure: str | None = None  # "success" plot of each benchmark; the same on "hard" sequences; "differences" from RLS
    strict_weights: bool = True  # use fallback networks only if the experiment names them
    notes: tuple[str, ...] = ()

    def published_values(self) -> dict[str, dict[str, float]]:
        """Row label -> column ("dataset/metric", "fps", "memory_mib") -> the paper's number."""
        return published_table(self.published)["rows"] if self.published else {}


def published_table(name: str) -> dict:
    with open(PUBLISHED / f"{name}.json", encoding="utf-8") as file:
        return json.load(file)
