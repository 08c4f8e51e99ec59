"""Every call to the disk fails once: what is there afterwards is complete, and the next run makes up for the rest."""
import errno
import shutil

import pytest

from ltr.download import download
from pytracking.evaluation.running import run_dataset
from pytracking.video.recorder import Recorder
from tests.evaluation.conftest import own_paths, write_sequence  # noqa: F401  (fixtures)
from tests.evaluation.trackers import RandomWalk, Spec
from tests.faults.file_layer import faulty_disk

ERRORS = (errno.EIO, errno.ENOSPC, errno.EINTR, errno.EROFS)


@pytest.fixture(autouse=True)
def without_waiting(monkeypatch):
    monkeypatch.setattr(RandomWalk, "seconds", 0.0)


def results(folder):
    return {path.name: path.read_bytes() for path in folder.glob("*.txt") if "_time" not in path.name}


def run(sequences):
    return run_dataset(sequences, [Spec(RandomWalk)], progress=False)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("error", ERRORS, ids=errno.errorcode.get)
def test_a_disk_that_fails_at_any_call_loses_nothing(tmp_path, error):
    sequences = [write_sequence(tmp_path / "data", "one", 3)]
    folder = Spec(RandomWalk).results_dir
    run(sequences)
    expected = results(folder)
    assert set(expected) == {"one.txt", "one_object_presence_scores.txt"}
    failed = 0
    for at in range(1, 200):
        shutil.rmtree(folder)
        with faulty_disk(tmp_path / "results", at, error) as disk:
            try:
                report = run(sequences)
                failed += bool(report.failures)
                for failure in report.failures:
                    assert "Errno" in failure.message and ("one" in failure.message or "results" in failure.message)
            except OSError as raised:
                failed += 1
                assert raised.filename is not None, "an error that names no file"
        found = results(folder) if folder.is_dir() else {}
        if folder.is_dir():
            (folder / ".one.txt~host~1~0.txt").write_text("half")  # what a kill leaves
        if "one.txt" in found:  # its presence says that the result is complete
            assert found == expected, at
        assert run(sequences).failures == [], at
        assert results(folder) == expected, at
        assert not [path for path in folder.rglob(".*~*")], at
        if disk.calls < at:
            break
    assert disk.calls < at, "the loop ended before the calls did"
    assert failed > 10


def record(folder):
    """What ``pytracking video --save-results`` does."""
    recorder = Recorder(folder, "clip", {"video": "clip.avi"}, mot=True)
    for x in range(3):
        recorder.add({1: {"target_bbox": [x, 2.0, 3.0, 4.0], "score": 0.5}}, 0.01)
    recorder.finish()


def fetch(folder):
    source = folder.parent / "network.pth"
    source.write_bytes(bytes(range(256)) * 1000)
    download(source.as_uri(), folder / "network.pth")


WORK = {"rows of a video": (record, 6), "download": (fetch, 1)}


@pytest.mark.parametrize("error", ERRORS, ids=errno.errorcode.get)
@pytest.mark.parametrize("kind", list(WORK))
def test_other_files_are_whole_or_not_there(tmp_path, kind, error):
    work, count = WORK[kind]
    work(tmp_path / "expected")
    expected = {path.name: path.read_bytes() for path in (tmp_path / "expected").iterdir()}
    assert len(expected) == count
    failed = 0
    for at in range(1, 100):
        folder = tmp_path / f"at {at}"
        with faulty_disk(folder, at, error) as disk:
            try:
                work(folder)
            except OSError as raised:
                failed += 1
                assert raised.filename is not None, "an error that names no file"
        for path in folder.iterdir() if folder.is_dir() else ():
            assert path.suffix == ".part" or path.read_bytes() == expected[path.name], (at, path.name)
        work(folder)
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == expected, at
        if disk.calls < at:
            break
    assert disk.calls < at, "the loop ended before the calls did"
    assert failed > 2 * count
