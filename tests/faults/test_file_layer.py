"""Every call to the disk fails once: what is there afterwards is complete, and the next run makes up for the rest."""
import errno
import shutil

import pytest

from pytracking.evaluation.running import run_dataset
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
