"""Every setting trains on drawn data; the same seed gives the same weights; a killed run ends where it would have."""
from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import cv2
import pytest
import torch

from ltr.checkpoint import load_network, read_checkpoint
from ltr.run_training import main, setting_names, train
from ltr.train_settings.dimp.dimp_mobile import make_network
from ltr.trainers.plan import RunOptions
from ltr.trainers.trainer import Trainer


@pytest.fixture(autouse=True)
def single_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def smoke_options(workspace: Path, **changes) -> RunOptions:
    return RunOptions(workspace=workspace, smoke=True, device="cpu", threads=1, **changes)


@pytest.mark.parametrize("name", setting_names())
def test_setting_trains_and_its_network_loads(name: str, tmp_path: Path) -> None:
    family, setting = name.split()
    path = train(family, setting, smoke_options(tmp_path))
    rows = (tmp_path / "log.csv").read_text().splitlines()
    assert len(rows) == 2 and rows[0].startswith("epoch,loss")
    assert 0 < float(rows[1].split(",")[1]) < 1e4
    network = load_network(path)
    assert not network.training
    assert network.metadata["epochs_trained"] == 1


def test_all_settings_are_there() -> None:
    expected = {"dimp dimp18", "dimp dimp50", "dimp dimp50_got10k", "dimp dimp_mobile", "dimp dimp_mobile_boxes"}
    assert expected | {"mdnet rtmdnet", "mdnet rtmdnet_small"} == set(setting_names())


def trained_weights(path: Path) -> dict[str, torch.Tensor]:
    return torch.load(path / "state.pth", weights_only=True)["network"]


def assert_equal(first: dict[str, torch.Tensor], second: dict[str, torch.Tensor]) -> None:
    assert first.keys() == second.keys()
    different = [name for name in first if not torch.equal(first[name], second[name])]
    assert not different


def test_same_seed_same_weights_and_other_seed_others(tmp_path: Path) -> None:
    for name, seed in (("a", 5), ("b", 5), ("c", 6)):
        train("mdnet", "rtmdnet_small", smoke_options(tmp_path / name, seed=seed))
    assert_equal(trained_weights(tmp_path / "a"), trained_weights(tmp_path / "b"))
    a, c = trained_weights(tmp_path / "a"), trained_weights(tmp_path / "c")
    assert not torch.equal(a["layers.fc4.0.weight"], c["layers.fc4.0.weight"])


class Killed(Exception):
    """Stands for the end of the process."""


def test_killed_run_resumes_to_the_same_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = {"epochs": 2, "cache_folder": tmp_path / "cache"}
    train("dimp", "dimp_mobile", smoke_options(tmp_path / "whole", **options))

    done = Trainer.optimizer_step
    steps = 0

    def step_then_die(self: Trainer, *arguments):
        nonlocal steps
        if steps == 3:  # in the middle of the second epoch, one step past the last checkpoint
            raise Killed
        steps += 1
        self.plan.checkpoint_every = 1
        return done(self, *arguments)

    with monkeypatch.context() as patched, pytest.raises(Killed):
        patched.setattr(Trainer, "optimizer_step", step_then_die)
        train("dimp", "dimp_mobile", smoke_options(tmp_path / "killed", **options))
    progress = torch.load(tmp_path / "killed" / "state.pth", weights_only=True)["progress"]
    assert (progress["epoch"], progress["step"]) == (1, 1)

    train("dimp", "dimp_mobile", smoke_options(tmp_path / "killed", **options))
    assert_equal(trained_weights(tmp_path / "whole"), trained_weights(tmp_path / "killed"))
    whole, killed = (read_checkpoint(tmp_path / n / "dimp_mobile.pth").net for n in ("whole", "killed"))
    assert_equal(whole, killed)


def test_resuming_with_another_seed_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    arguments = ["mdnet", "rtmdnet_small", "--smoke", "--device", "cpu", "--workspace", str(tmp_path)]
    assert main([*arguments, "--seed", "1"]) == 0
    assert main([*arguments, "--seed", "2", "--cache", str(tmp_path / "other")]) == 2
    assert "seed 1" in capsys.readouterr().err


def test_missing_path_names_the_variable(tmp_path: Path, monkeypatch, capsys: pytest.CaptureFixture) -> None:
    for key in ("LTR_GOT10K_PATH", "LTR_RESNET50_WEIGHTS"):
        monkeypatch.delenv(key, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert main(["dimp", "dimp50_got10k", "--device", "cpu", "--workspace", str(tmp_path)]) == 2
    assert "LTR_RESNET50_WEIGHTS" in capsys.readouterr().err


def test_unknown_setting_lists_the_known(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="dimp dimp_mobile"):
        train("dimp", "dimp51", smoke_options(tmp_path))


def test_dimp_mobile_trains_its_upper_blocks_and_leaves_the_lower_ones(tmp_path: Path) -> None:
    options = smoke_options(tmp_path)
    torch.manual_seed(options.seed)
    start = make_network(options).state_dict()
    trained = read_checkpoint(train("dimp", "dimp_mobile", options)).net
    changed = {name for name, value in trained.items() if not torch.equal(value.float(), start[name].half().float())}
    blocks = {int(name.split(".")[2]) for name in changed if name.startswith("feature_extractor.features.")}
    assert blocks == set(range(7, 14))
    assert not any("running_" in name for name in changed if name.startswith("feature_extractor"))  # statistics stay
    assert {"classifier", "bb_regressor"} <= {name.split(".")[0] for name in changed}


def test_dimp_mobile_boxes_trains_the_box_head_alone(tmp_path: Path) -> None:
    start = train("dimp", "dimp_mobile", smoke_options(tmp_path / "start"))
    options = smoke_options(tmp_path / "boxes", epochs=2)
    trained = read_checkpoint(train("dimp", "dimp_mobile_boxes", options, init=start)).net
    before = read_checkpoint(start).net
    changed = {name.split(".")[0] for name, value in trained.items() if not torch.equal(value, before[name])}
    assert changed == {"bb_regressor"}


def test_other_processes_hear_of_a_failure_of_the_main_process() -> None:
    code = """
from ltr.trainers import distributed
distributed.start("cpu")
for fails in (False, True):
    try:
        with distributed.main_process_first():
            if distributed.is_main_process() and fails:
                raise ValueError("no data")
            print("prepared", flush=True)
    except distributed.MainProcessFailedError as error:
        print("heard", error, flush=True)
    except ValueError as error:
        print("failed", error, flush=True)
distributed.stop()
"""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    group = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    command = [sys.executable, "-c", code]
    processes = [
        subprocess.Popen(command, env=os.environ | group | {"RANK": str(rank)}, stdout=subprocess.PIPE, text=True)
        for rank in range(2)
    ]
    try:
        said = [process.communicate(timeout=120)[0] for process in processes]
    finally:
        for process in processes:
            process.kill()
    first_words = [[line.split()[0] for line in text.splitlines()] for text in said]
    assert first_words == [["prepared", "failed"], ["prepared", "heard"]]


def test_opencv_has_no_threads_when_data_loading_processes_fork(tmp_path: Path) -> None:
    """A fork that inherits OpenCV's pool of threads without the threads waits for them for ever."""
    options = RunOptions(workspace=tmp_path, smoke=True, device="cpu", threads=1, workers=1)
    before = cv2.getNumThreads()
    cv2.setNumThreads(4)
    try:
        train("mdnet", "rtmdnet_small", options)
        assert cv2.getNumThreads() == 1
    finally:
        cv2.setNumThreads(before)


def test_what_kills_left_is_removed_but_not_beside_a_running_training(tmp_path: Path) -> None:
    arguments = ["mdnet", "rtmdnet_small", "--smoke", "--device", "cpu", "--workspace", str(tmp_path)]
    assert main(arguments) == 0
    left = tmp_path / ".state.pth~host~123~0.pth"
    left.write_bytes(b"half")
    assert main([*arguments, "--export"]) == 0
    assert left.exists(), "it may be the file that the training is writing"
    assert main([*arguments, "--epochs", "2"]) == 0
    assert not left.exists()
    assert [row.split(",")[0] for row in (tmp_path / "log.csv").read_text().splitlines()] == ["epoch", "0", "1"]
