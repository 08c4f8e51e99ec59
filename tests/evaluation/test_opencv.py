"""OpenCV's trackers under our contract."""
from __future__ import annotations

import os
from pathlib import Path

import cv2
import numpy as np
import pytest

import pytracking
from pytracking.cli import doctor
from pytracking.evaluation import Tracker
from pytracking.evaluation.networks import MissingWeightsError
from pytracking.tracker.opencv.opencv import MissingOpenCVTracker, check_available
from pytracking.utils.boxes import clip_to_image
from tests.evaluation.conftest import write_sequence

PEERS = Path(os.environ.get("PYTRACKING_TEST_PEERS", Path(__file__).parents[3] / "shared" / "peers"))


@pytest.fixture(scope="module")
def moving_square(tmp_path_factory):
    return write_sequence(tmp_path_factory.mktemp("data"), "square", frames=8, size=(120, 160))


@pytest.mark.parametrize("param", ["csrt", "kcf", "mil"])
def test_it_follows_a_square(moving_square, param):
    output = Tracker("opencv", param).run_sequence(moving_square)
    offset = np.abs(output.boxes[-1, :2] - moving_square.ground_truth_rect[-1, :2])
    assert offset.max() <= 8, "moved 14 pixels"
    if param != "mil":  # which seeds itself from the clock
        again = Tracker("opencv", param).run_sequence(moving_square)
        np.testing.assert_array_equal(output.boxes, again.boxes)


@pytest.mark.skipif(not PEERS.is_dir(), reason="no ONNX files of OpenCV's nano and vit (PYTRACKING_TEST_PEERS)")
@pytest.mark.parametrize("param", ["nano", "vit"])
def test_networks_are_found_in_the_network_path(moving_square, param, monkeypatch):
    monkeypatch.setenv("PYTRACKING_NETWORK_PATH", str(PEERS))
    output = Tracker("opencv", param).run_sequence(moving_square)
    assert np.isfinite(output.scores[1:]).all()
    assert np.abs(output.boxes[-1] - moving_square.ground_truth_rect[-1]).max() < 12


@pytest.mark.parametrize(("param", "file"), [("nano", "nanotrack_v2_backbone.onnx"), ("vit", "vittrack.onnx")])
def test_missing_network_is_named(param, file, tmp_path):
    with pytest.raises(MissingWeightsError, match=file) as error:
        Tracker("opencv", param).create_tracker()
    assert str(tmp_path / "networks") in str(error.value)


def test_second_network_of_nano_is_asked_for(tmp_path):
    (tmp_path / "networks").mkdir()
    (tmp_path / "networks" / "nanotrack_v2_backbone.onnx").write_bytes(b"x")
    tracker = pytracking.load("opencv", "nano")
    with pytest.raises(FileNotFoundError, match="nanotrack_v2_head.onnx"):
        tracker.init(np.zeros((40, 40, 3), np.uint8), (5, 5, 10, 10))


def test_build_without_contrib_says_what_to_do(monkeypatch):
    monkeypatch.delattr(cv2, "TrackerCSRT_create")
    with pytest.raises(MissingOpenCVTracker, match="contrib.*install.sh"):
        Tracker("opencv", "csrt").create_tracker()
    check_available("mil")


def test_box_at_the_edge_does_not_abort():
    tracker = pytracking.load("opencv", "kcf")
    frame = np.random.default_rng(0).integers(0, 255, (60, 80, 3), dtype=np.uint8)
    for box in ((-10, -10, 20, 20), (70, 50, 30, 30), (79.7, 59.7, 5, 5)):
        tracker.init(frame, box)
        assert np.isfinite(tracker.update(frame)["target_bbox"]).all()
    assert clip_to_image(np.array([-5.0, 2, 10, 100]), (60, 80)).tolist() == [0, 2, 5, 58]


def test_one_package_owns_cv2():
    assert len(doctor.opencv_owners()) == 1, "two OpenCV packages overwrite each other's files"
