"""run_tracker, run_experiment and the commands, as a user calls them."""
from __future__ import annotations

import sys

import numpy as np
import pytest

from pytracking import run_experiment, run_tracker
from pytracking.__main__ import main as pytracking_main
from pytracking.cli.tracker_options import parse_overrides
from pytracking.evaluation import Tracker
from pytracking.evaluation.results import boxes_file
from pytracking.utils.contact_sheet import COLOURS
from pytracking.utils.image_io import read_image
from tests.evaluation.conftest import write_sequence


@pytest.fixture
def folder(tmp_path) -> str:
    for name, frames in (("one", 6), ("two", 4)):
        write_sequence(tmp_path / "data", name, frames)
    return f"folder:{tmp_path / 'data'}"


def test_oracle_scores_the_most_and_a_picture_is_made(folder, capsys):
    assert run_tracker.main(["oracle", "default", "--dataset_name", folder]) == 0
    output = capsys.readouterr().out
    mean = next(line for line in output.splitlines() if line.startswith("mean of sequences"))
    assert mean.split()[3:7] == ["10", "0.952", "1.000", "1.000"]  # 20 of 21 thresholds are below an overlap of 1
    sheet = read_image(Tracker("oracle", "default").results_dir / "contact_sheet.jpg")
    assert sheet.shape[1] > 6 * 240
    assert "2 sequences tracked, 0 kept from before, 0 failed" in output


def test_identity_scores_what_a_hand_calculation_says(folder, capsys):
    run_tracker.main(["identity", "default", "--dataset_name", folder, "--sequence", "one"])
    line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("one"))
    # A square of 20 moves 2 pixels per frame: after k frames 20 - 2k of its columns are covered, out of 20 + 2k.
    overlaps = np.array([(20 - 2 * k) / (20 + 2 * k) for k in range(6)])
    by_hand = np.mean([(overlaps > threshold).mean() for threshold in np.linspace(0, 1, 21)])
    assert float(line.split()[2]) == pytest.approx(by_hand, abs=0.0005)


def test_second_run_keeps_everything(folder, capsys):
    arguments = ["identity", "default", "--dataset_name", folder]
    run_tracker.main(arguments)
    assert run_tracker.main(arguments) == 0
    assert "0 sequences tracked, 2 kept" in capsys.readouterr().out


def test_sequences_by_name_and_number(folder, capsys):
    assert run_tracker.main(["identity", "default", "--dataset_name", folder, "--sequence", "1"]) == 0
    results = Tracker("identity", "default").results_dir
    assert boxes_file(results, "two").exists()
    assert not boxes_file(results, "one").exists()
    assert run_tracker.main(["identity", "default", "--dataset_name", folder, "--sequence", "three"]) == 2
    assert "there are: one, two" in capsys.readouterr().err


def test_failure_means_a_non_zero_exit_code(folder, tmp_path, capsys):
    (tmp_path / "data" / "one" / "img" / "0003.png").write_bytes(b"")
    assert run_tracker.main(["identity", "default", "--dataset_name", folder]) == 1
    output = capsys.readouterr().out
    assert "FAILED identity/default on one" in output
    assert "0003.png" in output
    assert "mean of sequences" in output, "the other sequence is scored"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["identitty", "default"], "Did you mean 'identity'"),
        (["identity", "defaut"], "Did you mean 'default'"),
        (["identity", "default", "--dataset_name", "demmo"], "Did you mean 'demo'"),
        (["identity", "default", "--dataset_name", "folder:/nowhere"], "/nowhere"),
        (["identity", "default", "--dataset_name", "FOLDER", "--set", "devise=cpu"], "Did you mean 'device'"),
        (["identity", "default", "--dataset_name", "FOLDER", "--set", "device"], "NAME=VALUE"),
        (["identity", "default", "--dataset_name", "FOLDER", "--threads", "-1"], "threads"),
        (["identity", "default", "--dataset_name", "FOLDER", "--device", "tpu9"], "tpu9"),
        (["opencv", "vit", "--dataset_name", "FOLDER"], "vittrack.onnx"),
    ],
)
def test_mistakes_get_one_message_without_a_traceback(folder, arguments, message, capsys):
    arguments = [folder if argument == "FOLDER" else argument for argument in arguments]
    assert run_tracker.main(arguments) == 2
    error = capsys.readouterr().err
    assert message in error
    assert "Traceback" not in error


def test_values_of_set_are_read_as_python():
    assert parse_overrides(["a=1", "b=0.5", "c=cpu", "d=None", "e=(1, 2)", "f=x=y"]) == {
        "a": 1,
        "b": 0.5,
        "c": "cpu",
        "d": None,
        "e": (1, 2),
        "f": "x=y",
    }


def test_experiment_runs_all_its_trackers(folder, monkeypatch, capsys):
    import pytracking.experiments.examples as examples
    from pytracking.evaluation import get_dataset

    monkeypatch.setattr(examples, "get_dataset", lambda name: get_dataset(folder))
    assert run_experiment.main(["examples", "peers_on_demo"]) == 0
    output = capsys.readouterr().out
    assert all(name in output for name in ("identity/default", "opencv/kcf", "opencv/csrt"))
    assert "6 sequences tracked" in output


def test_unknown_experiments_are_told(capsys):
    assert run_experiment.main(["exampels", "x"]) == 2
    assert capsys.readouterr().err.endswith("Did you mean 'examples'? There are: examples\n"), "and no machinery"
    assert run_experiment.main(["definition", "published_table"]) == 2
    assert "'definition'. There are: examples\n" in capsys.readouterr().err
    assert run_experiment.main(["examples", "peers_on_dem"]) == 2
    assert "Did you mean 'peers_on_demo'" in capsys.readouterr().err


def test_experiments_of_ones_own_are_found(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(
        "def one(runs=3): ...\ndef two(): ...\ndef _hidden(): ...\ndef part(name): ...\ndef other(*, name): ...\n"
    )
    (tmp_path / "_private.py").write_text("def three(): ...\n")
    (tmp_path / "parts.py").write_text("def part(name): ...\n")
    monkeypatch.setattr(sys.modules[run_experiment.EXPERIMENTS], "__path__", [str(tmp_path)])
    assert run_experiment.experiments_by_module() == {"mine": ["one", "two"]}


def test_show_draws_results_too(folder, tmp_path, capsys):
    run_tracker.main(["identity", "default", "--dataset_name", folder])
    sheet = tmp_path / "sheet.png"
    command = ["show", folder, "--tracker", "identity", "default", "--columns", "3", "--output", str(sheet)]
    assert pytracking_main(command) == 0
    image = read_image(sheet).astype(int)
    orange = (abs(image - COLOURS["prediction"]).sum(axis=2) < 60).sum()
    green = (abs(image - COLOURS["truth"]).sum(axis=2) < 60).sum()
    assert orange > 100
    assert green > 100
    assert pytracking_main(["show", folder, "--sequence", "three"]) == 2
    assert "no sequence 'three'" in capsys.readouterr().err


def test_doctor_reports_and_fails_on_a_wrong_path(tmp_path, monkeypatch, capsys):
    assert pytracking_main(["doctor"]) == 0
    output = capsys.readouterr().out
    assert all(title in output for title in ("Python and packages", "Device", "Networks", "Trackers", "Datasets"))
    assert "identity" in output
    monkeypatch.setenv("PYTRACKING_OTB_PATH", str(tmp_path / "gone"))
    assert pytracking_main(["doctor"]) == 1
    assert "otb_path" in capsys.readouterr().out
