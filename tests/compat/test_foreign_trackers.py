"""Trackers and parameter files written for pytracking's interface, in a folder of their user, run by our programs."""
from __future__ import annotations

import importlib
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import pytracking
from ltr.errors import UserError
from pytracking.analysis.extract_results import extract_results
from pytracking.analysis.metrics import overlap
from pytracking.evaluation import Tracker, get_dataset
from pytracking.evaluation.discovery import parameter_names, tracker_names
from pytracking.evaluation.multi_object_wrapper import MultiObjectWrapper
from pytracking.evaluation.results import read_boxes, read_scores, scores_file
from pytracking.evaluation.run_record import read_record
from pytracking.evaluation.sequence import Sequence
from pytracking.run_tracker import run_tracker
from tests.evaluation.conftest import write_sequence

FOREIGN = Path(__file__).parent / "foreign"
OWN = ("colour_mean", "net_filter", "state_filter")


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    """The user's folder, outside this project; forgotten afterwards."""
    shutil.copytree(FOREIGN, tmp_path / "mine")
    monkeypatch.setenv("PYTRACKING_TRACKER_PATH", str(tmp_path / "mine"))
    monkeypatch.setenv("PYTRACKING_RESULTS_PATH", str(tmp_path / "results"))
    monkeypatch.setenv("PYTRACKING_CONFIG", str(tmp_path / "config.toml"))
    for package in map(importlib.import_module, ("pytracking.tracker", "pytracking.parameter")):
        monkeypatch.setattr(package, "__path__", list(package.__path__))
    yield tmp_path / "mine"
    for name in [name for name in sys.modules if any(own in name for own in OWN)]:
        del sys.modules[name]


@pytest.fixture
def data(tmp_path) -> str:
    for name in ("one", "two"):
        write_sequence(tmp_path / "data", name, 6)
    return f"folder:{tmp_path / 'data'}"


def test_they_are_found_beside_ours():
    assert {*OWN, "rls_dimp"} <= set(tracker_names())
    assert parameter_names("colour_mean") == ["default"]


@pytest.mark.parametrize("threads", [0, 2])
def test_a_minimal_tracker_runs_and_is_analysed(data, threads, capsys):
    report = run_tracker("colour_mean", "default", 3, data, None, 0, threads, {"use_visdom": True})
    assert (report.computed, report.failures) == (2, [])
    assert "Visdom is not used here" in capsys.readouterr().err
    tracker = Tracker("colour_mean", "default", 3)
    dataset = get_dataset(data)
    for sequence in dataset:
        np.testing.assert_allclose(read_boxes(tracker.results_dir / f"{sequence.name}.txt"), sequence.ground_truth_rect)
        assert np.nanmax(read_scores(scores_file(tracker.results_dir, sequence.name))) == 1, "its presence score"
    evaluation = extract_results([tracker], dataset, "report")
    assert evaluation.summary(evaluation.trackers[0]).auc[0] > 0.95
    assert run_tracker("colour_mean", "default", 3, data).kept == 2, "its settings are the same when it runs again"
    assert read_record(tracker.results_dir)["parameters"]["radius"] == 3


def test_one_sequence_by_number_and_by_name(data):
    assert run_tracker("colour_mean", "default", dataset_name=data, sequence=1).computed == 1
    report = run_tracker("colour_mean", "default", dataset_name=data, sequence="two")
    assert (report.computed, report.kept) == (0, 1)


def test_overrides_and_create_tracker_take_the_bag():
    tracker = Tracker("colour_mean", "default", overrides={"radius": 1, "new_name": 2})
    params = tracker.get_parameters()
    assert (params.radius, params.new_name, params.debug) == (1, 2, 0)
    assert tracker.create_tracker(params).params is params
    assert tracker.tracker_class.__name__ == "ColourMean"
    assert (tracker.results_dir + "/x.txt").endswith("results/colour_mean/default/x.txt")
    assert str(tracker.segmentation_dir).endswith("segmentation/colour_mean/default")
    with pytest.raises(UserError, match="loads its own network"):
        Tracker("colour_mean", "default", network="dimp_mobile").create_tracker()


def test_a_tracker_on_the_bundled_network(data):
    """Its filter follows the pattern to within a cell of the score map."""
    sequence = get_dataset(data)[0]
    output = Tracker("net_filter", "bundled").run_sequence(sequence, debug=0)
    errors = np.abs(np.array(output["target_bbox"]) - sequence.ground_truth_rect)[:, :2].max()
    assert errors < 8 and len(output["time"]) == 6
    assert np.isfinite(output["object_presence_score"][1:]).all()


def test_a_tracker_with_a_memory_a_state_and_box_refinement():
    """As much of the interface as KYS uses: augmentations, memory, filter optimizer, relative boxes."""
    whole = get_dataset("demo")["car"]
    sequence = Sequence("car", whole.frames[:10], "demo", whole.ground_truth_rect[:10])
    output = Tracker("state_filter", "default").run_sequence(sequence)
    overlaps = overlap(np.array(output["target_bbox"]), sequence.ground_truth_rect)
    assert overlaps.min() > 0.7, "a broken part (augmentation, memory, filter or box) loses more"
    assert np.isfinite(output["object_presence_score"][1:]).all()


def test_several_objects_of_such_a_tracker_are_those_of_single_runs():
    whole = get_dataset("demo")["car"]
    frames = [whole.load_frame(index) for index in range(3)]
    boxes = {"a": whole.ground_truth_rect[0].tolist(), "b": [20.0, 30.0, 60.0, 50.0]}

    def run(wanted):
        torch.manual_seed(0)  # of its dropout
        params = Tracker("state_filter", "default").get_parameters()
        tracker = MultiObjectWrapper(Tracker("state_filter", "default").tracker_class, params)
        info = {"init_bbox": wanted, "init_object_ids": list(wanted), "object_ids": list(wanted)}
        tracker.initialize(frames[0], info)
        return [tracker.track(frame)["target_bbox"] for frame in frames[1:]]

    together, alone = run(boxes), run({"a": boxes["a"]})
    assert [set(one) for one in together] == [{"a", "b"}] * 2
    assert [one["a"] for one in together] == [one["a"] for one in alone]


def test_in_ones_own_program_and_several_at_once(data):
    sequence = get_dataset(data)[0]
    targets = pytracking.load("colour_mean").several()
    boxes = {1: sequence.ground_truth_rect[0], 2: [40, 5, 10, 10]}
    targets.init(sequence.load_frame(0), boxes)
    found = targets.update(sequence.load_frame(1))
    np.testing.assert_allclose(found[1]["target_bbox"], sequence.ground_truth_rect[1])
    assert found[2]["target_bbox"] == [40, 5, 10, 10]


def test_in_the_vot_toolkit(tmp_path):
    pytest.importorskip("vot", reason="the extra 'vot' is not installed")
    from pytracking.vot_integration.running import run_workspace
    from pytracking.vot_integration.trackers import TrackerSpec
    from pytracking.vot_integration.workspace import StackChanges, create_workspace
    from tests.vot import miniature

    specs = [TrackerSpec.parse("colour_mean:default")]
    sources = [miniature.source(tmp_path / "polygons", 1, 8, polygons=True)]
    create_workspace(tmp_path / "workspace", "vot2018/shortterm", specs, sources, changes=StackChanges(1, (3, 6)))
    report = run_workspace(tmp_path / "workspace", engine="inprocess", threads=0, progress=False)
    assert not report.failures, report.summary()
    assert list((tmp_path / "workspace" / "results").rglob("*.txt")) or list(
        (tmp_path / "workspace" / "results").rglob("*.bin")
    )


def test_a_name_that_exists_here_is_refused(own_folder):
    (own_folder / "tracker" / "colour_mean").rename(own_folder / "tracker" / "dimp")
    with pytest.raises(UserError, match="already is a tracker 'dimp'; rename"):
        tracker_names()


@pytest.mark.parametrize(
    ("file", "text", "says"),
    [
        ("tracker/colour_mean/__init__.py", "", r"__init__\.py has no function get_tracker_class\(\)"),
        ("tracker/colour_mean/__init__.py", "def get_tracker_class():\n    return 3", "must return a class, not 3"),
        ("parameter/colour_mean/default.py", "params = 1", r"default\.py has no function parameters\(\)"),
        ("parameter/colour_mean/default.py", "def parameters():\n    pass", "returns None"),
    ],
)
def test_a_part_that_is_missing_is_named(own_folder, file, text, says):
    (own_folder / file).write_text(text)
    with pytest.raises(UserError, match=says):
        Tracker("colour_mean", "default").create_tracker()


def test_names_that_do_not_exist_are_answered_with_those_that_do():
    with pytest.raises(UserError, match="no tracker 'color_mean'. Did you mean 'colour_mean'"):
        Tracker("color_mean", "default")
    with pytest.raises(UserError, match="called 'defualt'. Did you mean 'default'"):
        Tracker("colour_mean", "defualt")


def test_a_folder_that_does_not_exist_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTRACKING_TRACKER_PATH", str(tmp_path / "nowhere"))
    with pytest.raises(UserError, match=r"tracker_path: .*nowhere"):
        tracker_names()


def test_a_folder_of_another_layout_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTRACKING_TRACKER_PATH", str(tmp_path))
    with pytest.raises(UserError, match="must have tracker/<name> and parameter/<name>"):
        tracker_names()
