"""What pytracking's users call after a run: packing, playing back, tables by attribute, GOT-10k's curves."""
from __future__ import annotations

import json
import re
import zipfile

import cv2
import numpy as np
import pytest

from ltr.errors import UserError
from pytracking.analysis.playback_results import playback_results
from pytracking.analysis.plot_results import plot_got_success, print_results_per_attribute
from pytracking.compat import analysis, packing
from pytracking.evaluation import SequenceList, Tracker, get_dataset, get_dataset_attributes
from pytracking.evaluation.datasets import load_dataset
from pytracking.evaluation.environment import MissingPathError
from pytracking.evaluation.results import write_boxes, write_times
from pytracking.evaluation.sequence import Sequence
from pytracking.run_tracker import run_tracker
from pytracking.util_scripts.pack_got10k_results import pack_got10k_results
from pytracking.util_scripts.pack_lasot_results import pack_lasot_results
from pytracking.util_scripts.pack_trackingnet_results import pack_trackingnet_results
from tests.evaluation.conftest import write_sequence

LENGTHS = {"a-1": 4, "b-2": 6}


@pytest.fixture(autouse=True)
def own_paths(tmp_path, monkeypatch):
    """Everything that is read and written is the test's own."""
    for key in ("results_path", "result_plot_path", "got_reports_path"):
        monkeypatch.setenv(f"PYTRACKING_{key.upper()}", str(tmp_path / key))
    monkeypatch.setenv("PYTRACKING_CONFIG", str(tmp_path / "config.toml"))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")


@pytest.fixture
def benchmark(monkeypatch) -> list[str]:
    """A benchmark of two sequences under any name; returns the names that were asked for."""
    asked = []

    def load(name: str) -> SequenceList:
        asked.append(name)
        frames = {one: [f"{number}.jpg" for number in range(length)] for one, length in LENGTHS.items()}
        first = np.array([[10.0, 5, 20, 10]])
        return SequenceList([Sequence(one, paths, name, first) for one, paths in frames.items()])

    monkeypatch.setattr(packing, "get_dataset", load)
    return asked


def write_run(tmp_path, run_id: int | None = None, offset: float = 0.0) -> None:
    folder = tmp_path / "results_path" / "mine" / ("default" if run_id is None else f"default_{run_id:03d}")
    for name, length in LENGTHS.items():
        write_boxes(folder / f"{name}.txt", np.tile([10.0 + offset, 5, 20, 10], (length, 1)))
        write_times(folder / f"{name}_time.txt", np.full(length, 0.1))


def test_packing_for_got10k_takes_the_runs_that_are_there(tmp_path, benchmark):
    for run_id in range(4):
        write_run(tmp_path, run_id, offset=run_id)
    path = pack_got10k_results("mine", "default", "out")
    assert path.resolve() == tmp_path / "here" / "out.zip" and benchmark == ["got10k_test"]
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        assert {"a-1/a-1_001.txt", "a-1/a-1_003.txt", "b-2/b-2_time.txt"} <= set(names)
        assert "a-1/a-1_004.txt" not in names, "GOT-10k takes three"
        assert archive.read("a-1/a-1_003.txt").decode().splitlines() == ["12.000,5.000,20.000,10.000"] * 4


def test_packing_for_trackingnet_and_lasot(tmp_path, benchmark):
    write_run(tmp_path, offset=1)
    write_run(tmp_path, 2, offset=3)
    path = pack_trackingnet_results("mine", "default", 2, "sent")
    with zipfile.ZipFile(path) as archive:
        assert archive.read("b-2.txt").decode().splitlines() == ["13.00,5.00,20.00,10.00"] * 6
    assert pack_trackingnet_results("mine", "default").name == "mine_default.zip"
    folder = pack_lasot_results("mine", "default", output_name="version.2")
    assert folder.name.startswith("version.2")
    assert benchmark == ["trackingnet", "trackingnet", "lasot"]
    texts = {file.name: file.read_text() for file in folder.rglob("*.txt")}
    assert sorted(texts) == ["a-1.txt", "b-2.txt"]
    assert [float(x) for x in re.split(r"[,\s]+", texts["a-1.txt"].strip())][:4] == [11, 5, 20, 10]


def test_packing_what_is_not_there_names_it(tmp_path, benchmark):
    with pytest.raises(UserError, match="mine"):
        pack_got10k_results("mine", "default", "out")
    write_run(tmp_path)
    (tmp_path / "results_path" / "mine" / "default" / "b-2.txt").unlink()
    with pytest.raises(UserError, match="b-2"):
        pack_trackingnet_results("mine", "default")
    assert not list((tmp_path / "here").iterdir()), "nothing half is left"


@pytest.fixture
def ran(tmp_path) -> tuple[Tracker, SequenceList]:
    for name in ("one", "two"):
        write_sequence(tmp_path / "data", name, 6)
    data = f"folder:{tmp_path / 'data'}"
    assert run_tracker("identity", "default", dataset_name=data).computed == 2
    return Tracker("identity", "default"), get_dataset(data)


def test_playing_back_writes_a_page_with_frames_and_boxes(tmp_path, ran):
    tracker, dataset = ran
    page = playback_results([tracker], dataset[0])
    assert page.parent.parent == tmp_path and page.name == "one.html"
    found = re.search(r'<script[^>]*id="data"[^>]*>(.*?)</script>', page.read_text(encoding="utf-8"), re.DOTALL)
    data = json.loads(found[1])
    assert (data["name"], data["frames"], len(data["images"])) == ("one", 6, 6)
    assert [one["name"] for one in data["trackers"]] == [tracker.display_name]
    assert data["trackers"][0]["boxes"] == [dataset[0].init_bbox()] * 6
    with pytest.raises(UserError, match=r"never"):
        playback_results([Tracker("identity", "default", 7)], Sequence("never", ["a.jpg"], "x", np.ones((1, 4))))


def test_tables_by_attribute(ran, capsys, monkeypatch):
    tracker, dataset = ran
    for sequence, words in zip(dataset, (["IV"], ["IV", "OCC"]), strict=True):
        sequence.attributes["challenges"] = words
    monkeypatch.setattr("pytracking.compat.datasets.get_dataset", lambda name: dataset)
    assert load_dataset("any").get_attribute_names() == ["IV", "OCC"] and len(load_dataset("any")) == 2
    table = print_results_per_attribute([tracker], get_dataset_attributes("any"), "report")
    assert table.header == ["Attribute", "Sequences", tracker.display_name]
    assert [row[:2] for row in table.rows] == [["IV", 2], ["OCC", 1]]
    scores = [analysis.extract_results([tracker], part, "x") for part in (dataset, dataset[1:])]
    expected = [float(np.mean(one.summary(one.trackers[0]).auc)) for one in scores]
    assert [row[2].value for row in table.rows] == pytest.approx(expected)
    assert "OCC" in capsys.readouterr().out


def test_got10ks_curves_are_drawn_from_the_servers_reports(tmp_path, monkeypatch):
    trackers = [Tracker("identity", "default", display_name=name) for name in ("First", "Second")]
    folder = tmp_path / "got_reports_path"
    folder.mkdir()
    for name, level in (("First", 0.75), ("Second", 0.25)):
        curve = [level] * 101
        (folder / f"{name}.json").write_text(json.dumps({name: {"ao": level, "succ_curve": curve}}))
    drawn = []
    keep = analysis.save_figure
    monkeypatch.setattr(analysis, "save_figure", lambda figure, path: (drawn.append(figure), keep(figure, path)))
    path = plot_got_success(trackers, "report")
    assert path == tmp_path / "result_plot_path" / "report" / "got10k_success.png"
    assert cv2.imread(str(path)).std() > 5, "something is drawn"
    (axes,) = drawn[0].axes
    assert {line.get_label(): set(line.get_ydata()) for line in axes.get_lines()} == {
        "First [0.750]": {0.75}, "Second [0.250]": {0.25},
    }  # fmt: skip
    (folder / "Second.json").write_text('{"Second": {"ao": 0.2}}')
    with pytest.raises(UserError, match=r"Second\.json.*succ_curve"):
        plot_got_success(trackers, "report")
    (folder / "Second.json").unlink()
    with pytest.raises(UserError, match=r"Second\.json"):
        plot_got_success(trackers, "report")
    monkeypatch.delenv("PYTRACKING_GOT_REPORTS_PATH")
    with pytest.raises(MissingPathError, match="got_reports_path"):
        plot_got_success(trackers, "report")
