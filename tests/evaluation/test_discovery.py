import re
from pathlib import Path

import pytest

from pytracking.evaluation import Tracker, get_dataset, trackerlist
from pytracking.evaluation.datasets.registry import DATASETS, dataset_names
from pytracking.evaluation.discovery import UnknownTrackerError, parameter_names, tracker_names
from pytracking.evaluation.environment import MissingPathError
from pytracking.evaluation.seeds import seed_for


def test_every_parameter_file_of_every_tracker_loads():
    for name in tracker_names():
        params = parameter_names(name)
        assert params, f"tracker '{name}' has no parameter file"
        for param in params:
            Tracker(name, param).file_parameters()


def test_unknown_tracker_lists_the_existing_and_the_nearest():
    with pytest.raises(UnknownTrackerError, match="Did you mean 'identity'") as error:
        Tracker("identiti", "default")
    assert "oracle" in str(error.value)


def test_unknown_parameter_lists_the_existing_and_the_nearest():
    with pytest.raises(UnknownTrackerError, match="Did you mean 'csrt'") as error:
        Tracker("opencv", "crst")
    assert "kcf" in str(error.value)


def test_somebody_elses_results_can_be_analysed_but_not_run(tmp_path):
    (tmp_path / "results" / "siamfoo" / "big").mkdir(parents=True)
    tracker = Tracker("siamfoo", "big")
    assert tracker.results_dir == tmp_path / "results" / "siamfoo" / "big"
    with pytest.raises(UnknownTrackerError, match="not run"):
        tracker.create_tracker()


@pytest.mark.parametrize("folder", ["default_long", "default_1", "default@net", "default2.zip"])
def test_a_typo_that_begins_like_a_result_folder_is_a_typo(tmp_path, folder):
    (tmp_path / "results" / "identity" / folder.replace("default", "csr")).mkdir(parents=True)
    with pytest.raises(UnknownTrackerError, match="There are: default"):
        Tracker("identity", "csr")


@pytest.mark.parametrize("folder", ["csr", "csr_000", "csr.zip", "csr_012.zip"])
def test_results_of_a_parameter_without_code_are_found_by_their_exact_name(tmp_path, folder):
    (tmp_path / "results" / "identity" / folder).mkdir(parents=True)
    assert not Tracker("identity", "csr").runnable


def test_trackerlist_makes_one_tracker_a_run():
    runs = trackerlist("identity", "default", range(2), "Identity")
    assert [(t.run_id, t.display_name, t.results_dir.name) for t in runs] == [
        (0, "Identity", "default_000"),
        (1, "Identity", "default_001"),
    ]
    assert [t.run_id for t in trackerlist("identity", "default", 4)] == [4]
    assert [t.run_id for t in trackerlist("identity", "default")] == [None]


@pytest.mark.parametrize("run_id", [-1, "1", 1.0])
def test_bad_run_id_is_refused(run_id):
    with pytest.raises(ValueError, match="run_id"):
        Tracker("identity", "default", run_id)


def test_misspelled_override_is_refused_with_the_nearest():
    with pytest.raises(AttributeError, match="Did you mean 'device'"):
        Tracker("identity", "default").create_tracker({"devise": "cpu"})


def test_unknown_dataset_lists_the_existing_and_the_nearest():
    with pytest.raises(ValueError, match="Did you mean 'lasot'") as error:
        get_dataset("lassot")
    assert "folder:PATH" in str(error.value)


def test_dataset_without_path_names_the_key(monkeypatch):
    monkeypatch.delenv("PYTRACKING_OTB_PATH", raising=False)
    with pytest.raises(MissingPathError, match='otb_path = "'):
        get_dataset("otb")


def test_every_registered_dataset_has_a_loader():
    import importlib

    assert dataset_names() == sorted(DATASETS)
    for name, entry in DATASETS.items():
        module = importlib.import_module(f"pytracking.evaluation.datasets.{entry.module}")
        assert callable(module.load), name


def test_seeds_differ_by_run_and_sequence_and_never_change():
    assert seed_for(None, "Bolt") == seed_for(0, "Bolt") == 842360684
    seeds = {seed_for(run, name) for run in range(20) for name in ("Bolt", "Deer", "Boy")}
    assert len(seeds) == 60
    assert all(0 <= seed < 2**31 for seed in seeds)


def test_messages_and_pages_name_parameter_files_that_exist():
    root = Path(__file__).parents[2]
    trackers = "|".join(sorted(tracker_names(), key=len, reverse=True))
    example = re.compile(rf"(?<![\w/.])({trackers})[:/](\w+)")
    command = re.compile(rf"run_(?:tracker|video|webcam|vot)(?:\.py)? ({trackers}) (\w+)")
    texts = [*(root / "docs").glob("*.md"), root / "README.md", *(root / "pytracking").rglob("*.py")]
    texts += (root / "experiments").rglob("*.py")
    named = [
        (file.name, *found) for file in texts for pattern in (example, command)
        for found in pattern.findall(file.read_text(encoding="utf-8"))
    ]
    assert len(named) > 100
    assert [entry for entry in named if entry[2] not in parameter_names(entry[1])] == []
