"""Which encoder is taken, and what becomes of a file that is not finished."""
import sys

import cv2
import numpy as np
import pytest

from pytracking.utils import video_writer
from pytracking.utils.video_writer import VideoWriter, browser_suffix, choose_encoder, opencv_h264, pyav_h264


@pytest.fixture
def without_pyav(monkeypatch):
    monkeypatch.setitem(sys.modules, "av", None)
    monkeypatch.setitem(sys.modules, "av.codec", None)
    pyav_h264.cache_clear()
    yield
    pyav_h264.cache_clear()


def code_of(path) -> str:
    number = int(cv2.VideoCapture(str(path)).get(cv2.CAP_PROP_FOURCC))
    return number.to_bytes(4, "little").decode()


def write(path, frames: int = 6, size: tuple[int, int] = (47, 63)) -> None:
    with VideoWriter(path, 25.0) as writer:
        for index in range(frames):
            writer.write(np.full((*size, 3), 20 * index, np.uint8))


def test_without_an_h264_encoder_it_is_vp9_or_vp8(tmp_path, without_pyav, monkeypatch, capfd):
    monkeypatch.setattr(video_writer, "opencv_h264", lambda: False)
    write(tmp_path / "a.mp4")
    write(tmp_path / "b.webm")
    assert code_of(tmp_path / "a.mp4").upper() in ("VP09", "VP90") and code_of(tmp_path / "b.webm") == "VP80"
    assert browser_suffix() == ".webm"
    assert capfd.readouterr().err == "", "nothing is said about encoders that were only tried"


def test_h264_where_pyav_is_installed(tmp_path):
    pytest.importorskip("av", reason="the extra 'video' is not installed")
    write(tmp_path / "a.mp4")
    assert code_of(tmp_path / "a.mp4") == "h264" and browser_suffix() == ".mp4"
    capture = cv2.VideoCapture(str(tmp_path / "a.mp4"))
    assert capture.get(cv2.CAP_PROP_FRAME_WIDTH) == 64 and capture.get(cv2.CAP_PROP_FRAME_HEIGHT) == 48, "even sizes"
    assert sum(capture.read()[0] for _ in range(10)) == 6
    assert (tmp_path / "a.mp4").read_bytes().index(b"moov") < (tmp_path / "a.mp4").read_bytes().index(b"mdat")


def test_no_codec_that_browsers_refuse():
    """MPEG-4 Part 2 (mp4v) is what OpenCV's examples write; no browser plays it."""
    codes = [getattr(choose_encoder(suffix), "keywords", {}).get("code") for suffix in (".mp4", ".webm", ".mkv")]
    assert "mp4v" not in codes
    assert isinstance(opencv_h264(), bool)


def test_an_error_keeps_the_frames_so_far_and_no_frame_leaves_no_file(tmp_path):
    with pytest.raises(KeyboardInterrupt), VideoWriter(tmp_path / "a.avi", 25.0) as writer:
        writer.write(np.zeros((48, 64, 3), np.uint8))
        raise KeyboardInterrupt
    assert (tmp_path / "a.avi").exists()
    with pytest.raises(ValueError, match="no frame"), VideoWriter(tmp_path / "b.avi", 25.0):
        pass
    with pytest.raises(ValueError, match="63x48"), VideoWriter(tmp_path / "c.avi", 25.0) as writer:
        writer.write(np.zeros((48, 64, 3), np.uint8))
        writer.write(np.zeros((48, 63, 3), np.uint8))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.avi", "c.avi"]
