"""Each kind of bad input ends in an error that names file and frame (or the documented handling), and in no result."""
from __future__ import annotations

import struct

import cv2
import numpy as np
import pytest

from pytracking.evaluation import Tracker
from pytracking.evaluation.datasets.folder import load
from pytracking.evaluation.running import run_dataset
from pytracking.evaluation.sequence import Sequence, SequenceError
from pytracking.utils import image_io
from pytracking.utils.boxes import BoxError
from pytracking.utils.image_io import ImageReadError, read_image, write_image
from tests.evaluation.conftest import write_sequence


@pytest.fixture
def root(tmp_path):
    return tmp_path / "data"


def failure(root) -> str:
    """The message of running a tracker on the folder's only sequence; checks that no result was written."""
    tracker = Tracker("identity", "default")
    report = run_dataset(load(root), [tracker], progress=False)
    assert [path.name for path in tracker.results_dir.glob("*.txt")] == []
    assert len(report.failures) == 1
    return report.failures[0].message


def frame(root, number: int, suffix: str = ".png"):
    return root / "s" / "img" / f"{number:04d}{suffix}"


@pytest.mark.parametrize("suffix", [".png", ".jpg"])
@pytest.mark.parametrize("kept", [0, 2, 30, 500])
def test_truncated_image(root, suffix, kept):
    write_sequence(root, "s", suffix=suffix)
    damaged = frame(root, 4, suffix)
    damaged.write_bytes(damaged.read_bytes()[:kept])
    message = failure(root)
    assert str(damaged) in message
    assert "frame 4 of sequence 's'" in message


@pytest.mark.parametrize("decoder", ["simplejpeg", "opencv"])
def test_the_orientation_of_a_jpeg_is_ignored_by_every_decoder(monkeypatch, decoder):
    """With OpenCV such frames were rotated, so results depended on whether simplejpeg was installed."""
    if decoder == "opencv":
        monkeypatch.setattr(image_io, "simplejpeg", None)
    data = cv2.imencode(".jpg", np.zeros((16, 24, 3), np.uint8))[1].tobytes()
    entry = struct.pack("<HHIHH", 0x0112, 3, 1, 6, 0)  # the tag Orientation, one short: 6, rotate by 90 degrees
    exif = b"Exif\0\0II*\0" + struct.pack("<IH", 8, 1) + entry + struct.pack("<I", 0)
    rotated = data[:2] + b"\xff\xe1" + struct.pack(">H", len(exif) + 2) + exif + data[2:]
    assert image_io.decode_image(rotated, "a.jpg").shape == (16, 24, 3)


def test_jpeg_with_a_thumbnail_inside_or_bytes_after_it(tmp_path):
    image = np.full((16, 16, 3), 90, np.uint8)
    write_image(tmp_path / "a.jpg", image)
    data = (tmp_path / "a.jpg").read_bytes()
    (tmp_path / "a.jpg").write_bytes(data + b"\0" * 500)
    assert read_image(tmp_path / "a.jpg").shape == (16, 16, 3)
    thumbnail = b"\xff\xe1" + (len(data) + 2).to_bytes(2, "big") + data
    (tmp_path / "a.jpg").write_bytes(data[:2] + thumbnail + data[2:-2])  # complete thumbnail, frame without its end
    with pytest.raises(ImageReadError, match="truncated"):
        read_image(tmp_path / "a.jpg")


def test_image_that_is_none(root):
    write_sequence(root, "s")
    frame(root, 2).write_bytes(b"<html>404 not found</html>")
    assert str(frame(root, 2)) in failure(root)


def test_image_that_vanishes_after_the_listing(root):
    sequence = write_sequence(root, "s")
    frame(root, 3).unlink()
    with pytest.raises(ImageReadError, match="0003.png.*frame 3"):
        sequence.load_frame(2)


def test_image_of_another_size_in_the_middle(root):
    write_sequence(root, "s")
    write_image(frame(root, 5), np.zeros((50, 70, 3), np.uint8))
    message = failure(root)
    assert str(frame(root, 5)) in message
    assert "frame 5" in message
    assert "70x50" in message
    assert "64x48" in message


@pytest.mark.parametrize(
    ("stored", "expected"),
    [
        (np.full((4, 5), 7, np.uint8), (7, 7, 7)),  # grey is repeated
        (np.full((4, 5), 7 * 256 + 200, np.uint16), (7, 7, 7)),  # 16 bits keep their upper byte
        (np.full((4, 5, 3), (1 << 8, 2 << 8, 3 << 8), np.uint16), (3, 2, 1)),
        (np.full((4, 5, 4), (1, 2, 3, 0), np.uint8), (3, 2, 1)),  # alpha is dropped
    ],
)
def test_grey_deep_and_transparent_images_become_rgb(tmp_path, stored, expected):
    cv2.imwrite(str(tmp_path / "a.png"), stored)  # BGR
    image = read_image(tmp_path / "a.png")
    assert image.shape == (4, 5, 3)
    assert image.dtype == np.uint8
    assert (image == expected).all()


def test_float_image_is_refused_by_name(tmp_path):
    cv2.imwrite(str(tmp_path / "a.tiff"), np.ones((4, 5), np.float32))
    with pytest.raises(ImageReadError, match="a.tiff.*float32"):
        read_image(tmp_path / "a.tiff")


def test_grey_jpeg_becomes_rgb(tmp_path):
    cv2.imwrite(str(tmp_path / "a.jpg"), np.full((16, 16), 90, np.uint8))
    image = read_image(tmp_path / "a.jpg")
    assert image.shape == (16, 16, 3)
    assert (abs(image.astype(int) - 90) <= 1).all()


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("1,2,20,20\n3,2,20,20\n", "2 ground-truth rows for 6 frames"),
        ("1,2,20,20\n" * 7, "7 ground-truth rows for 6 frames"),
        ("", "the file is empty"),
        ("1,2,20\n" * 6, "line 1"),
        ("1,2,20,20\na,b,c,d\n", "line 2"),
    ],
)
def test_bad_ground_truth_is_named(root, rows, message):
    write_sequence(root, "s")
    (root / "s" / "groundtruth_rect.txt").write_text(rows)
    with pytest.raises(SequenceError, match=message) as error:
        load(root)
    assert "groundtruth_rect.txt" in str(error.value)


def test_folder_without_ground_truth_is_told(root):
    write_sequence(root, "s", frames=2)
    write_sequence(root, "t", frames=2)
    (root / "t" / "groundtruth_rect.txt").unlink()
    with pytest.warns(UserWarning, match="no groundtruth_rect.txt in t"):
        assert load(root).names == ["s"]


def test_first_box_alone_is_enough_to_run(root):
    write_sequence(root, "s")
    (root / "s" / "groundtruth_rect.txt").write_text("4,10,20,20\n")
    assert run_dataset(load(root), [Tracker("identity", "default")], progress=False).computed == 1


def test_absent_target_rows_mean_invisible(root):
    write_sequence(root, "s", frames=3)
    (root / "s" / "groundtruth_rect.txt").write_text("4,10,20,20\nNaN,NaN,NaN,NaN\n8 10 20 20\n")
    assert load(root)[0].target_visible.tolist() == [True, False, True]


@pytest.mark.parametrize(
    ("box", "message"),
    [
        ("4,10,0,20", "zero or negative size"),
        ("4,10,20,-3", "zero or negative size"),
        ("200,10,20,20", "outside the image"),
        ("-30,10,20,20", "outside the image"),
        ("NaN,NaN,NaN,NaN", "not finite"),
        ("4,10,inf,20", "not finite"),
    ],
)
def test_bad_first_box(root, box, message):
    write_sequence(root, "s", frames=3)
    (root / "s" / "groundtruth_rect.txt").write_text(f"{box}\n5,10,20,20\n6,10,20,20\n")
    text = failure(root)
    assert message in text
    assert "groundtruth_rect.txt" in text


def test_first_box_may_stick_out_of_the_image(root):
    write_sequence(root, "s", frames=3)
    (root / "s" / "groundtruth_rect.txt").write_text("-10,10,20,20\n" * 3)
    assert run_dataset(load(root), [Tracker("identity", "default")], progress=False).computed == 1


def test_empty_sequence_and_empty_folder(root):
    (root / "s" / "img").mkdir(parents=True)
    with pytest.raises(FileNotFoundError, match="groundtruth_rect.txt"):
        load(root)
    (root / "s" / "groundtruth_rect.txt").write_text("1,2,3,4\n")
    with pytest.raises(SequenceError, match="no images"):
        load(root)
    with pytest.raises(FileNotFoundError, match="does not exist"):
        load(root / "nowhere")


def test_sequence_refuses_what_does_not_fit():
    with pytest.raises(SequenceError, match="no frames"):
        Sequence("s", [], "d", np.ones((1, 4)))
    with pytest.raises(SequenceError, match="visibility"):
        Sequence("s", ["a", "b"], "d", np.ones((2, 4)), target_visible=np.array([True]))
    with pytest.raises(SequenceError, match="four numbers"):
        Sequence("s", ["a"], "d", np.ones(4))


def test_frames_are_ordered_by_number(tmp_path):
    write_sequence(tmp_path, "s", frames=3)
    for number, name in ((1, "2.png"), (2, "9.png"), (3, "10.png")):
        frame(tmp_path, number).rename(tmp_path / "s" / "img" / name)
    assert [path.rsplit("/", 1)[1] for path in load(tmp_path)[0].frames] == ["2.png", "9.png", "10.png"]


def test_box_error_says_what_it_got():
    from pytracking.utils.boxes import check_initial_box

    with pytest.raises(BoxError, match="four numbers"):
        check_initial_box([1, 2, 3], (10, 10), "init")
    with pytest.raises(BoxError, match="four numbers"):
        check_initial_box("here", (10, 10), "init")
