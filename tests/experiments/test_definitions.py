"""The definitions agree with the paper, with the trackers that exist and with the metrics that can be computed."""
import pytest

from experiments.definition import PUBLISHED, published_table
from experiments.scoring import PRESENCE_METRICS, SUMMARY_METRICS, VOT_METRICS
from experiments.tables import experiment_names, get_experiment
from ltr.errors import UserError
from pytracking.analysis.rules import RULES
from pytracking.evaluation import get_dataset
from pytracking.evaluation.datasets.registry import DATASETS
from pytracking.evaluation.discovery import parameter_names, tracker_names
from pytracking.evaluation.reference import TrackerReference

BENCHMARKS = [
    pytest.param(get_experiment(name), benchmark, id=f"{name}-{benchmark.dataset}-{place}")
    for name in experiment_names()
    for place, benchmark in enumerate(get_experiment(name).benchmarks)
]


def test_every_table_and_figure_of_the_paper_has_a_definition():
    labels = " ".join(get_experiment(name).label for name in experiment_names())
    for label in (
        "table:ablationstudy_RLS_RTMDNet", "table:uav1", "fig:stateofartstudyUAV1", "table:vot1",
        "table:ablationstudy_RLS_DiMP", "fig:ablationstudyLaSOT", "tab:RLS_DiMPresults", "table:vot2",
    ):
        assert label in labels


@pytest.mark.parametrize(("experiment", "benchmark"), BENCHMARKS)
def test_trackers_exist(experiment, benchmark):
    for text in benchmark.trackers.values():
        name = TrackerReference.parse(text)
        assert ":" in text, "says which parameters"
        assert name.tracker in tracker_names(), text
        assert name.parameters in parameter_names(name.tracker), text


@pytest.mark.parametrize(("experiment", "benchmark"), BENCHMARKS)
def test_dataset_rule_and_metrics_exist(experiment, benchmark):
    assert benchmark.dataset in DATASETS
    known = set(VOT_METRICS) if benchmark.protocol == "vot" else {*SUMMARY_METRICS, *PRESENCE_METRICS}
    assert set(benchmark.metrics) <= known
    assert benchmark.rule in RULES or set(benchmark.metrics) <= set(PRESENCE_METRICS)


@pytest.mark.parametrize("path", sorted(PUBLISHED.glob("*.json")), ids=lambda path: path.stem)
def test_published_columns_are_columns_of_the_experiment(path):
    table, experiment = published_table(path.stem), get_experiment(path.stem)
    ours = {f"{benchmark.dataset}/{metric}" for benchmark in experiment.benchmarks for metric in benchmark.metrics}
    assert set(table["columns"]) - {"fps", "memory_mib"} <= ours
    assert table["label"] in experiment.label
    rows = {label for benchmark in experiment.benchmarks for label in benchmark.trackers}
    assert len(rows & set(table["rows"])) >= 2, "the paper's own trackers carry the paper's names"
    for row in table["rows"].values():
        assert set(row) <= set(table["columns"])


@pytest.mark.parametrize(
    ("file", "row", "column", "value"),
    [
        ("dimp_ablation", "RLS-DiMP", "lasot/success", 0.577),
        ("dimp_comparison", "RLS-DiMP", "oxuva/tpr", 0.735),
        ("dimp_comparison", "LTMU", "tlp/precision", 0.608),
        ("rtmdnet_ablation", "RLS-RTMDNet", "uav/success", 0.525),
        ("vot2016_2017", "LADCF-R50", "vot17/rt_eao", 0.066),
        ("vot2018_2019", "RLS-DiMP", "vot19/eao", 0.371),
        ("uav123", "RLS-RTMDNet", "uav/sr75", 0.326),
    ],
)
def test_published_values(file, row, column, value):
    """A sample of every table, read off the paper by eye: a shifted column would show."""
    assert published_table(file)["rows"][row][column] == value


def test_an_unknown_experiment_names_the_nearest():
    with pytest.raises(UserError, match="Did you mean 'dimp_ablation'"):
        get_experiment("dimp_ablatoin")


def test_parts_of_the_demo_dataset_exist():
    names = set(get_dataset("demo").names)
    for benchmark in get_experiment("mini").benchmarks:
        assert set(benchmark.sequences or ()) <= names
