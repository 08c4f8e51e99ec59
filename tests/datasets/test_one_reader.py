"""One file has one meaning: `folder:`, VOT workspaces and results read numbers through the same functions."""
from __future__ import annotations

import warnings
from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ltr import sequence_files
from pytracking.evaluation import get_dataset
from pytracking.evaluation.datasets.base import read_numbers
from pytracking.evaluation.datasets.folder import load_sequence
from pytracking.evaluation.datasets.registry import split_options
from pytracking.evaluation.results import read_boxes
from pytracking.evaluation.sequence import SequenceError
from pytracking.utils.image_io import IMAGE_SUFFIXES
from pytracking.vot_integration.sequences import find_sequences

BOXES = [[10.0, 12.0, 8.0, 6.0], [11.5, 12.0, 8.0, 6.0]]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """One sequence; numbers of frames without padding, so that their order is not that of the names."""
    folder = tmp_path / "OTB" / "car"
    (folder / "img").mkdir(parents=True)
    for number in (9, 10):
        cv2.imwrite(str(folder / "img" / f"{number}.jpg"), np.full((30, 40, 3), number, np.uint8))
    (folder / "groundtruth_rect.txt").write_text("".join(",".join(map(str, box)) + "\n" for box in BOXES))
    return folder.parent


def readings(root: Path, origin: int) -> dict[str, tuple[list, list[str]]]:
    """Boxes and names of frames, by reader."""
    folder = get_dataset(f"folder:{root}?origin={origin}")[0]
    (source,) = find_sequences(root, origin)
    alone = load_sequence(root / "car", "OTB", origin)
    return {
        "folder:": (folder.ground_truth_rect.tolist(), [Path(frame).name for frame in folder.frames]),
        "load_sequence": (alone.ground_truth_rect.tolist(), [Path(frame).name for frame in alone.frames]),
        "vot init": (list(map(list, source.regions)), [frame.name for frame in source.frames]),
    }


@pytest.mark.parametrize("origin", [0, 1])
def test_all_readers_agree(root: Path, origin: int) -> None:
    expected = [[x - origin, y - origin, w, h] for x, y, w, h in BOXES]
    for reader, (boxes, frames) in readings(root, origin).items():
        assert boxes == expected, reader
        assert frames == ["9.jpg", "10.jpg"], reader


def test_the_default_is_as_written(root: Path) -> None:
    assert get_dataset(f"folder:{root}")[0].ground_truth_rect.tolist() == BOXES
    assert find_sequences(root)[0].regions == tuple(map(tuple, BOXES))


@pytest.mark.parametrize("name", ["folder:{}?origin=2", "folder:{}?orgin=1", "folder:{}?missing=skip", "demo?origin=1"])
def test_wrong_options_are_refused_with_the_right_form(root: Path, name: str) -> None:
    with pytest.raises(ValueError, match="origin must be 0|origin=1'|missing=skip'"):
        get_dataset(name.format(root))


def test_a_question_mark_in_a_path_is_no_option(tmp_path: Path) -> None:
    assert split_options("folder:/data/what?/mine") == ("folder:/data/what?/mine", {})
    assert split_options("folder:/data/what?/mine?origin=1") == ("folder:/data/what?/mine", {"origin": "1"})


@given(
    st.lists(st.tuples(*[st.floats(-1e4, 1e4, width=32)] * 4), min_size=1, max_size=8),
    st.sampled_from([",", "\t", ";", ", ", "  "]),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
)
def test_any_separator_line_end_and_mark_gives_the_same_numbers(tmp_path_factory, boxes, separator, end, mark) -> None:
    path = tmp_path_factory.mktemp("numbers") / "boxes.txt"
    text = "".join(separator.join(map(repr, box)) + end for box in boxes)
    path.write_bytes((b"\xef\xbb\xbf" if mark else b"") + text.encode())
    np.testing.assert_array_equal(read_numbers(path, 4), boxes)
    np.testing.assert_array_equal(sequence_files.read_boxes(path), boxes)


@pytest.mark.parametrize("text", ["1\t2\t3\t4\n5\t6\t7\t8\n", "1,2,3,4\n5,6,7,8", "1;2;3;4\n5;6;7;8\n"])
def test_a_byte_order_mark_in_a_result_is_no_part_of_its_first_number(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.txt").write_text(text, encoding="utf-8-sig")
    np.testing.assert_array_equal(read_boxes(tmp_path / "a.txt"), [[1, 2, 3, 4], [5, 6, 7, 8]])


def test_a_blank_line_is_skipped_in_annotations_but_counts_in_error_messages(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("1,2,3,4\n\n5,6,x,8\n")
    with pytest.raises(SequenceError, match="a.txt, line 3: not numbers"):
        read_numbers(tmp_path / "a.txt", 4)


def test_both_packages_take_the_same_images() -> None:
    """`pytracking.utils` imports nothing of ours, hence two tuples."""
    assert sequence_files.IMAGE_SUFFIXES == IMAGE_SUFFIXES


def test_a_benchmark_that_is_partly_there_says_how_to_run_on_it(tmp_path: Path, monkeypatch) -> None:
    for video in ("Bolt", "Deer"):
        (tmp_path / video / "img").mkdir(parents=True)
        frames = {"Bolt": 350, "Deer": 71}[video]
        for number in range(1, frames + 1):
            (tmp_path / video / "img" / f"{number:04d}.jpg").touch()
        (tmp_path / video / "groundtruth_rect.txt").write_text("1,2,3,4\n" * frames)
    monkeypatch.setenv("PYTRACKING_OTB_PATH", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="98 of 100 sequences are missing") as error:
        get_dataset("otb")
    assert "To run on the 2 available sequences, write 'otb?missing=skip'" in str(error.value)
    with pytest.warns(UserWarning, match="otb: only 2 of 100 sequences"):
        assert get_dataset("otb?missing=skip").names == ["Bolt", "Deer"]
    with pytest.warns(UserWarning, match="otb2013: only 2 of 51"):
        get_dataset("otb2013?missing=skip")
    monkeypatch.setenv("PYTRACKING_OTB_PATH", str(tmp_path / "Bolt"))
    with warnings.catch_warnings(), pytest.raises(FileNotFoundError, match="100 of 100"):
        warnings.simplefilter("error")
        get_dataset("otb?missing=skip")  # nothing at all is no part
