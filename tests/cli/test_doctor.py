"""What the doctor tries out is what it reports."""
from __future__ import annotations

import cv2
import pytest
import torch.nn.functional as F

from pytracking.cli import doctor
from pytracking.cli.checks import computing, machine


def test_a_folder_that_takes_no_file_is_a_failure(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("PYTRACKING_RESULTS_PATH", str(tmp_path / "results"))
    found = {finding.subject: finding for finding in machine.writing()}
    assert found["write results_path"].ok and "GiB free" in found["write results_path"].state
    monkeypatch.setattr(machine.tempfile, "TemporaryFile", _refuse)
    found = {finding.subject: finding for finding in machine.writing()}
    assert found["write results_path"].ok is False
    assert "Read-only" in found["write results_path"].state and "results_path" in found["write results_path"].remedy


def _refuse(**_: object):
    raise OSError(30, "Read-only file system")


def test_little_room_is_a_failure():
    assert not any(finding.ok for finding in machine.writing(enough=2**80))


def test_a_device_is_tried_with_a_convolution(monkeypatch):
    assert computing.try_device("cpu").ok
    assert computing.try_device("cuda:99").ok is False
    right, calls = F.conv2d, []

    def wrong_the_second_time(*arguments):
        calls.append(1)
        return right(*arguments) * (1 if len(calls) == 1 else 1.1)

    monkeypatch.setattr(F, "conv2d", wrong_the_second_time)
    finding = computing.try_device("cpu")
    assert finding.ok is False and "from the CPU's" in finding.state


def test_a_tracker_is_tried_as_in_a_run():
    assert computing.tracking("identity/default").ok
    finding = computing.tracking("identity/nothing")
    assert finding.ok is False and "UnknownTrackerError" in finding.state


@pytest.mark.parametrize("suffix", [".mp4", ".avi"])
def test_a_video_comes_back(suffix):
    assert machine.round_trip(suffix).ok


def test_a_codec_that_loses_frames_is_a_failure(monkeypatch):
    from pytracking.utils import video_writer

    monkeypatch.setattr(video_writer.VideoWriter, "write", _write_half(video_writer.VideoWriter.write))
    assert machine.round_trip(".avi").ok is False


def _write_half(write):
    def half(self, frame):
        if frame.mean() < 100:
            write(self, frame)

    return half


def test_trackers_that_this_opencv_lacks_are_not_called_ready(monkeypatch):
    monkeypatch.delattr(cv2, "TrackerCSRT_create", raising=False)
    monkeypatch.setattr(doctor, "tracker_names", lambda: ["opencv"])
    found = {finding.state.rpartition(": ")[2]: finding for finding in doctor.trackers()}
    assert "contrib" in found["csrt"].state and "opencv-contrib-python" in found["csrt"].remedy
    assert found["csrt"].ok is None
    assert all("csrt" not in params for params, finding in found.items() if finding.ok)


@pytest.mark.parametrize("is_checkout", [True, False])
def test_a_wheel_is_not_told_to_run_a_script_that_it_lacks(tmp_path, monkeypatch, is_checkout):
    if is_checkout:
        (tmp_path / "install.sh").touch()
    monkeypatch.setattr(doctor, "CHECKOUT", tmp_path)
    monkeypatch.delattr(cv2, "TrackerCSRT_create", raising=False)
    monkeypatch.setattr(doctor, "opencv_owners", lambda: ["opencv-python", "opencv-contrib-python"])
    remedies = [finding.remedy for finding in (*doctor.packages(), *doctor.optional_packages(), *doctor.device())]
    assert any("opencv-contrib-python" in remedy for remedy in remedies)
    assert any("install.sh" in remedy for remedy in remedies) == is_checkout
