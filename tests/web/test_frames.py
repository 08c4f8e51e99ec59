"""Frames on disk and results in arrays: bounded, and still there when somebody looks back."""
import sys

import pytest

from pytracking.web.frames import FrameArchive
from pytracking.web.settings import WebSettings
from pytracking.web.track_log import TrackLog


def data_of(index: int, size: int = 1000) -> bytes:
    return index.to_bytes(4, "big") * (size // 4)


@pytest.fixture
def archive(tmp_path):
    made = FrameArchive(tmp_path / "frames", quota=100_000)
    yield made
    made.remove()
    assert not list(tmp_path.iterdir())


def test_a_long_run_stays_within_its_quota_and_viewable_from_end_to_end(archive, tmp_path):
    for index in range(1000):
        archive.put(index, data_of(index))
        assert (tmp_path / "frames").stat().st_size <= 100_000
    assert archive.stride == 16 and len(archive) > 50
    for index in (0, 1, 499, 503, 999):
        found, data = archive.get(index)
        assert found <= index < found + 16 and data == data_of(found)


def test_a_corrected_frame_is_kept_whatever_the_stride(archive):
    for index in range(401):
        archive.put(index, data_of(index), always=index == 333)
    assert archive.stride > 1 and archive.get(333)[0] in (333, 332)
    archive.put(402, data_of(402))
    archive.put(403, data_of(403), always=True)
    assert archive.get(403) == (403, data_of(403))


def test_going_back_forgets_what_came_after(archive):
    for index in range(20):
        archive.put(index, data_of(index))
    archive.cut(7)
    assert archive.get(19) == (6, data_of(6))
    archive.put(7, data_of(99))
    assert archive.get(7) == (7, data_of(99))


def test_nothing_there_is_an_error(archive, tmp_path):
    with pytest.raises(KeyError):
        archive.get(0)


def test_runs_share_the_disk_and_leave_some_for_those_to_come(tmp_path):
    settings, taken = WebSettings(uploads=tmp_path, frame_bytes=2**30, max_sessions=8), []
    for _ in range(8):
        taken.append(settings.run_bytes(taken))
    assert taken[0] == 2**28 and min(taken) >= 2**26 and sum(taken) <= 2**30


def output(index: int) -> dict:
    one = {"id": 1, "box": [index, 2.5, 30, 40], "score": None if index == 1 else 0.5, "flag": "normal",
           "learner": {"rank": index} if index > 2 else {}}
    return {"name": "a/b", "seconds": 0.01, "objects": [one]}


def test_the_log_keeps_little_and_goes_back(tmp_path):
    log = TrackLog(("a/b",))
    for index in range(5):
        log.add(index + 10, [output(index)], corrected=[1] if index == 3 else [])
    rows = list(log)
    assert [frame for frame, _, _ in rows] == [10, 11, 12, 13, 14]
    assert rows[1][2]["score"] is None and rows[4][2]["box"] == [4, 2.5, 30, 40]
    assert len(log.trackers[0].learner["rank"]) == 5, "a value that starts late has its frame's place"
    log.cut(13)
    assert len(log) == 3 and log.corrected == [] and len(list(log)) == 3
    log = TrackLog(("a/b",))
    for index in range(10_000):
        log.add(index, [output(index)])
    columns = [log.frames, log.rows, *(value for value in vars(log.trackers[0]).values() if hasattr(value, "itemsize"))]
    assert sum(sys.getsizeof(column) for column in columns) / 10_000 < 60  # bytes per frame
