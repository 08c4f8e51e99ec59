"""Experiments on RLS-DiMP for the other trackers of its family."""
import pytest

from experiments.families import FAMILIES, of_family
from experiments.tables import get_experiment
from pytracking.evaluation.discovery import parameter_names
from pytracking.evaluation.reference import TrackerReference


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("name", ["mini", "beyond", "dimp_ablation"])
def test_every_row_has_a_tracker_that_exists(name, family):
    experiment = of_family(get_experiment(name), family)
    assert experiment.name == f"{name}_{family}" and experiment.published is None
    for benchmark in experiment.benchmarks:
        rows = {label: TrackerReference.parse(text) for label, text in benchmark.trackers.items()}
        assert all(FAMILIES[family][0] in label for label in rows)
        assert len(set(rows.values())) == len(rows) >= 3
        for row in rows.values():
            assert row.parameters in parameter_names(row.tracker)
    original = get_experiment(name).benchmarks[0].trackers
    networks = {TrackerReference.parse(text).network for text in original.values()}
    assert {row.network for row in rows.values()} == networks


def test_families_that_do_not_exist_or_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="prdimp"):
        of_family(get_experiment("mini"), "kys")
    with pytest.raises(ValueError, match="rtmdnet_ablation"):
        of_family(get_experiment("rtmdnet_ablation"), "atom")
