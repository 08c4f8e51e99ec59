import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytracking.evaluation.results import (
    ResultFileError,
    boxes_file,
    is_complete,
    read_boxes,
    read_scores,
    read_times,
    result_dir,
    times_file,
    write_boxes,
    write_scores,
    write_times,
)

BOX = st.tuples(*[st.floats(-1e4, 1e4)] * 2, *[st.floats(0, 1e4)] * 2)


@given(st.lists(BOX, min_size=1, max_size=20))
def test_boxes_survive_with_two_decimals(tmp_path_factory, boxes):
    path = tmp_path_factory.mktemp("boxes") / "a.txt"
    write_boxes(path, np.array(boxes))
    np.testing.assert_allclose(read_boxes(path), boxes, atol=0.005 + 1e-9)


def test_layout_is_pytrackings(tmp_path):
    folder = result_dir(tmp_path, "dimp", "dimp50", 3)
    assert folder == tmp_path / "dimp" / "dimp50_003"
    assert result_dir(tmp_path, "dimp", "dimp50") == tmp_path / "dimp" / "dimp50"
    write_boxes(boxes_file(folder, "Bolt"), np.array([[1, 2.5, 3, 4.126]]))
    assert (folder / "Bolt.txt").read_text() == "1.00\t2.50\t3.00\t4.13\n"


@pytest.mark.parametrize("text", ["1\t2\t3\t4\n5\t6\t7\t8\n", "1,2,3,4\n5,6,7,8", "1.0, 2.0, 3.0, 4.0\n5 6 7 8\n\n"])
def test_reader_takes_tabs_commas_integers_and_floats(tmp_path, text):
    (tmp_path / "a.txt").write_text(text)
    np.testing.assert_array_equal(read_boxes(tmp_path / "a.txt"), [[1, 2, 3, 4], [5, 6, 7, 8]])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1,2,3,4\n5,6,x,8\n", "line 2"),
        ("1,2,3,4\n5,6,7\n", "line 2"),
        ("1,2,3\n4,5,6,7,8\n", "line 1"),  # eight numbers in two lines, but not four in each
        ("1,2,3,4\n\n5,6,7,8\n", "line 2"),
        ("1,2,3,nan\n", "line 1"),
        ("1,2,inf,4\n", "line 1"),
        ("", "empty"),
    ],
)
def test_bad_file_is_an_error_with_its_line(tmp_path, text, message):
    (tmp_path / "a.txt").write_text(text)
    with pytest.raises(ResultFileError, match=message) as error:
        read_boxes(tmp_path / "a.txt")
    assert "a.txt" in str(error.value)


def test_missing_and_binary_files_are_named(tmp_path):
    with pytest.raises(ResultFileError, match="absent.txt"):
        read_boxes(tmp_path / "absent.txt")
    (tmp_path / "b.txt").write_bytes(b"\xff\xfe\x00\x01")
    with pytest.raises(ResultFileError, match="b.txt"):
        read_boxes(tmp_path / "b.txt")


def test_no_file_is_written_for_a_box_that_is_not_finite(tmp_path):
    with pytest.raises(ResultFileError, match="frame 2"):
        write_boxes(tmp_path / "a.txt", np.array([[1, 2, 3, 4], [1, np.nan, 3, 4]]))
    assert list(tmp_path.iterdir()) == []


def test_times_and_scores_round_trip(tmp_path):
    write_times(tmp_path / "t.txt", np.array([0.25, 0.000001]))
    np.testing.assert_allclose(read_times(tmp_path / "t.txt"), [0.25, 0.000001])
    write_scores(tmp_path / "s.txt", np.array([np.nan, -0.5]))
    np.testing.assert_array_equal(read_scores(tmp_path / "s.txt"), [np.nan, -0.5])


def test_complete_means_right_length_and_readable(tmp_path):
    write_boxes(boxes_file(tmp_path, "s"), np.ones((3, 4)))
    assert is_complete(tmp_path, "s", 3), "published results have no times"
    assert not is_complete(tmp_path, "s", 4)
    write_times(times_file(tmp_path, "s"), np.ones(2))
    assert not is_complete(tmp_path, "s", 3)
    write_times(times_file(tmp_path, "s"), np.ones(3))
    assert is_complete(tmp_path, "s", 3)
    boxes_file(tmp_path, "s").write_text("1,2,3\n")
    assert not is_complete(tmp_path, "s", 1)
