"""Tracking of files, folders and damaged videos from the command line."""
import csv
import json
import os
import tracemalloc
from fractions import Fraction

import cv2
import numpy as np
import pytest

from pytracking import run_video
from pytracking.evaluation.results import read_boxes, read_times
from pytracking.utils.device import ENGINE_VARIABLE
from pytracking.video.overlay import target_colour
from pytracking.video.recorder import Recorder
from pytracking.video.sources import VideoError, open_source

BOX = ["--optional_box", "20", "15", "30", "24"]


def moving_square(index: int, size: tuple[int, int] = (96, 128)) -> np.ndarray:
    frame = np.full((*size, 3), 60, np.uint8)
    x = 20 + index % 40
    frame[15:39, x : x + 30] = (200, 120, 40)
    return frame


@pytest.fixture
def results(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTRACKING_RESULTS_PATH", str(tmp_path / "results"))
    return tmp_path / "results"


@pytest.fixture
def video(tmp_path):
    return write_video(tmp_path / "clip.avi", 12)


def write_video(path, frames: int):
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter_fourcc(*"MJPG"), 25.0, (128, 96))
    assert writer.isOpened()
    for index in range(frames):
        writer.write(moving_square(index))
    writer.release()
    return path


def run(*arguments) -> int:
    return run_video.main(["identity", "default", *map(str, arguments), "--no_display"])


def test_boxes_times_csv_json_and_video_are_written(video, results, tmp_path, capsys):
    assert run(video, *BOX, "--save", tmp_path / "out.mp4", "--save_results") == 0
    folder = results / "identity" / "default" / "videos"
    boxes = read_boxes(folder / "clip.txt")
    assert boxes.tolist() == [[20.0, 15.0, 30.0, 24.0]] * 12
    assert len(read_times(folder / "clip_time.txt")) == 12
    with open(folder / "clip.csv", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [int(row["frame"]) for row in rows] == list(range(1, 13))
    data = json.loads((folder / "clip.json").read_text())
    assert data["tracker"] == "identity" and data["ended"] == "end of the video" and len(data["frames"]) == 12
    assert not list(folder.glob("*.part"))
    with open_source(str(tmp_path / "out.mp4")) as source:
        frames = list(source)
    assert len(frames) == 12 and frames[0].shape == (96, 128, 3)
    assert np.abs(frames[6].astype(int) - moving_square(6)[..., ::-1]).max() > 60, "the box is drawn"


def test_a_folder_of_frames_in_the_order_of_their_numbers(tmp_path, results):
    folder = tmp_path / "frames"
    folder.mkdir()
    for index in (1, 2, 10):
        cv2.imwrite(str(folder / f"{index}.png"), np.full((40, 50, 3), index, np.uint8))
    with open_source(str(folder)) as source:
        assert [int(frame[0, 0, 0]) for frame in source] == [1, 2, 10]
        assert source.length == 3


def test_a_video_that_is_cut_off_keeps_its_boxes_and_names_the_frame(tmp_path, results, capsys):
    video = write_video(tmp_path / "cut.avi", 40)
    data = video.read_bytes()
    video.write_bytes(data[: len(data) * 6 // 10])  # the index at the end is lost with the last frames
    header_says = 40
    code = run(video, *BOX, "--save_results")
    printed = capsys.readouterr()
    boxes = read_boxes(results / "identity" / "default" / "videos" / "cut.txt")
    assert 5 < len(boxes) < header_says
    assert code == 1
    assert f"frame {len(boxes) + 1} of {header_says} cannot be read" in printed.err
    assert "cut.avi" in printed.err


def test_an_unreadable_image_in_a_folder_is_named(tmp_path, results, capsys):
    folder = tmp_path / "frames"
    folder.mkdir()
    for index in range(4):
        cv2.imwrite(str(folder / f"{index}.jpg"), moving_square(index))
    (folder / "2.jpg").write_bytes(b"not an image")
    assert run(folder, *BOX, "--save_results") == 1
    assert "2.jpg" in capsys.readouterr().err
    assert len(read_boxes(results / "identity" / "default" / "videos" / "frames.txt")) == 2


def test_interrupt_keeps_what_is_done(video, results, monkeypatch, capsys):
    interrupt_after(monkeypatch, 5)
    assert run(video, *BOX, "--save_results") == 130
    assert len(read_boxes(results / "identity" / "default" / "videos" / "clip.txt")) == 5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.mp4", *BOX], "nowhere.mp4: no such file"),
        (["{text}", *BOX], "cannot open video"),
        (["{empty}", *BOX], "contains no images"),
        (["{video}", "--optional_box", "500", "500", "10", "10"], "box"),
        (["{video}", "--optional_box", "1", "1", "0", "10"], "box"),
        (["{video}", *BOX, "--save", "out.gif"], "must end in"),
        (["{video}", *BOX, "--start_frame", "0"], "--start"),
        (["{video}", *BOX, "--start", "13"], "has 12 frames"),
        (["{video}", *BOX, "--box_at", "1", "1", "1", "9", "9"], "after the first frame, 1"),
        (["{video}", *BOX, "--remove_at", "4", "2"], "no target 2 before frame 4"),
        (["{video}", *BOX, "--set", "colour"], "expected NAME=VALUE"),
        (["{video}", *BOX, "--network", "dimp_mobile"], "uses no network"),
    ],
)
def test_wrong_input_is_named(arguments, message, video, tmp_path, results, capsys):
    (tmp_path / "notes.mp4").write_text("no video")
    (tmp_path / "empty").mkdir()
    places = {"video": video, "text": tmp_path / "notes.mp4", "empty": tmp_path / "empty"}
    assert run(*[str(argument).format(**places) for argument in arguments]) == 2
    assert message in capsys.readouterr().err


def test_memory_does_not_grow_with_ten_thousand_frames(tmp_path):
    from pytracking.evaluation.handle import TrackerHandle
    from pytracking.video.sources import FrameSource
    from pytracking.video.tracking import track_video

    class Endless(FrameSource):
        name, fps, length = "endless", 25.0, 10_000

        def frames(self, start=0):
            for index in range(start, self.length):
                yield moving_square(index)

    recorder = Recorder(tmp_path, "endless", {})
    tracemalloc.start()
    sizes = {}
    for step in track_video(TrackerHandle("identity", "default"), Endless(), lambda frame: {1: [20, 15, 30, 24]}):
        recorder.add(step.outputs, step.seconds)
        if step.index in (1000, 9999):
            sizes[step.index] = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert sizes[9999] - sizes[1000] < 100_000  # bytes; 9000 boxes kept in a list would be over 2 MB
    assert len(read_boxes(recorder.finish().with_suffix(".txt"))) == 10_000


def test_a_crash_leaves_the_rows_that_were_written(tmp_path):
    recorder = Recorder(tmp_path, "clip", {})
    for index in range(120):
        recorder.add({1: {"target_bbox": [index, 0, 5, 5]}}, 0.01)
    lines = recorder.partial.read_text().splitlines()  # no finish(): as after a kill
    assert len(lines) >= 101


def test_streams_and_cameras_that_do_not_answer(capsys):
    with pytest.raises(VideoError, match="camera 97"):
        open_source("97")


def test_without_a_screen_and_without_flags_the_boxes_are_kept(video, results, capsys):
    assert run(video, *BOX) == 0
    assert len(read_boxes(results / "identity" / "default" / "videos" / "clip.txt")) == 12
    assert "--save-results" in capsys.readouterr().err


def interrupt_after(monkeypatch, frames: int) -> None:
    original, seen = Recorder.add, []

    def interrupt(recorder, *frame):
        original(recorder, *frame)
        seen.append(frame)
        if len(seen) == frames:
            raise KeyboardInterrupt

    monkeypatch.setattr(Recorder, "add", interrupt)


def test_an_interrupted_run_does_not_replace_a_complete_one(video, results, monkeypatch):
    folder = results / "identity" / "default" / "videos"
    assert run(video, *BOX) == 0
    interrupt_after(monkeypatch, 4)
    assert run(video, *BOX) == 130
    assert len(read_boxes(folder / "clip.txt")) == 12 and len(read_boxes(folder / "clip_partial.txt")) == 4
    monkeypatch.undo()


def test_another_video_of_the_same_name_has_files_of_its_own(video, results, tmp_path):
    (tmp_path / "other").mkdir()
    other = write_video(tmp_path / "other" / "clip.avi", 7)
    assert run(video, *BOX) == run(other, *BOX) == run(other, *BOX) == 0
    folder = results / "identity" / "default" / "videos"
    lengths = {path.stem: len(json.loads(path.read_text())["frames"]) for path in folder.glob("*.json")}
    assert sorted(lengths.values()) == [7, 12] and lengths["clip"] == 12


def test_starting_at_a_later_frame(video, results):
    assert run(video, *BOX, "--start_frame", "5") == 0
    with open(results / "identity" / "default" / "videos" / "clip.csv", newline="") as stream:
        assert [int(row["frame"]) for row in csv.DictReader(stream)] == list(range(5, 13))


def test_several_targets_that_come_and_go(video, results, tmp_path):
    second = ["--box", "60", "40", "20", "20"]
    later = ["--box_at", "4", "5", "6", "20", "10", "--remove_at", "6", "2"]
    assert run(video, *BOX, *second, *later, "--mot", "--save", tmp_path / "out.mp4") == 0
    folder = results / "identity" / "default" / "videos"
    assert read_boxes(folder / "clip_1.txt").tolist() == [[20, 15, 30, 24]] * 12
    assert read_boxes(folder / "clip_2.txt").tolist() == [[60, 40, 20, 20]] * 5
    assert read_boxes(folder / "clip_3.txt").tolist() == [[5, 6, 20, 10]] * 9
    with open(folder / "clip.csv", newline="") as stream:
        rows = list(csv.DictReader(stream))
    present = {frame: [row["id"] for row in rows if int(row["frame"]) == frame] for frame in range(1, 13)}
    assert present == {**dict.fromkeys((1, 2, 3), ["1", "2"]), 4: ["1", "2", "3"], 5: ["1", "2", "3"],
                       **dict.fromkeys(range(6, 13), ["1", "3"])}  # fmt: skip
    mot = (folder / "clip_mot.txt").read_text().splitlines()
    assert mot[1] == "1,2,60.00,40.00,20.00,20.00,1,-1,-1,-1" and len(mot) == len(rows)
    with open_source(str(tmp_path / "out.mp4")) as source:
        frames = list(source)
    for box, target in (((20, 15, 30, 24), 1), ((60, 40, 20, 20), 2)):
        edge = frames[1][box[1] + box[3], box[0] + 4 : box[0] + box[2] - 4].astype(int)
        assert np.abs(edge - target_colour(target)).mean() < 60, "each target in its colour"


def test_a_demo_video_has_its_name_and_visdom_is_answered(results, capsys):
    assert run("demo:car", *BOX, "--start", "219", "--use_visdom", "1", "--visdom_port", "8097") == 0
    assert len(read_boxes(results / "identity" / "default" / "videos" / "car.txt")) == 2
    assert "Visdom is not used here" in capsys.readouterr().err


def test_options_reach_the_tracker(video, results, monkeypatch):
    monkeypatch.setenv(ENGINE_VARIABLE, "auto")  # so that it is as before after the test
    assert run(video, *BOX, "--set", "debug=3", "--engine", "torch", "--start", "9") == 0
    assert os.environ[ENGINE_VARIABLE] == "torch"
    assert len(read_boxes(results / "identity" / "default" / "videos" / "clip.txt")) == 4


def numbered(index: int) -> np.ndarray:
    """A frame with its number painted in, as seven bars."""
    frame = np.full((64, 160, 3), 30, np.uint8)
    for bit in range(7):
        frame[10:50, 8 + 20 * bit : 24 + 20 * bit] = 230 if index >> bit & 1 else 30
    return frame


def number_of(frame: np.ndarray) -> int:
    return sum(int(frame[30, 16 + 20 * bit, 0] > 128) << bit for bit in range(7))


def write_constant(path) -> None:
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter_fourcc(*"mp4v"), 29.97, (160, 64))
    for index in range(120):
        writer.write(numbered(index))
    writer.release()


def write_variable(path) -> None:
    """As phones write them: frames of unequal length, which OpenCV looks for at the wrong times."""
    av = pytest.importorskip("av", reason="the extra 'video' is not installed")
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=30, options={"g": "30"})
        stream.width, stream.height, stream.pix_fmt = 160, 64, "yuv420p"
        stream.time_base = stream.codec_context.time_base = Fraction(1, 1000)
        for index in range(120):
            frame = av.VideoFrame.from_ndarray(numbered(index), format="rgb24")
            frame.pts, frame.time_base = 33 * index + (700 if index > 40 else 0) + 5 * (index % 3), Fraction(1, 1000)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))


@pytest.mark.parametrize("write", [write_constant, write_variable])
def test_a_frame_read_before_is_found_again_exactly(tmp_path, write):
    write(tmp_path / "n.mp4")
    with open_source(str(tmp_path / "n.mp4")) as source:
        assert [number_of(frame) for frame in source] == list(range(120))
        for start in (40, 7, 100, 0, 41):
            later = source.frames(start)
            assert [number_of(next(later)) for _ in range(3)] == [start, start + 1, start + 2]
