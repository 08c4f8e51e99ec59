"""A worker may die at any moment: its sequence fails with the reason, and the others are tracked."""
import errno
import io
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from pytracking.cli.checks.machine import folders, why_not_writable
from pytracking.evaluation.results import read_times, times_file
from pytracking.evaluation.running import run_dataset
from pytracking.evaluation.workers import WorkerPool
from pytracking.utils import files
from tests.evaluation.conftest import own_paths, sequences, write_sequence  # noqa: F401  (fixtures)
from tests.evaluation.trackers import RandomWalk, Spec
from tests.faults.runners import FaultyRunner, FaultyTask

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="processes end differently on Windows")


def outcomes(tasks, workers=2):
    with WorkerPool(workers, 1, FaultyRunner) as pool:
        return {outcome.task.name: outcome for outcome in pool.run(tasks, lambda task, frames: None)}


def test_death_at_any_moment_fails_its_sequence_and_no_other(tmp_path):
    moments = ("receiving", "tracking", "writing", "unreadable", "memory", "", "", "")
    tasks = [FaultyTask(f"{i}", moment, str(tmp_path / f"{i}.txt")) for i, moment in enumerate(moments)]
    found = outcomes(tasks)
    assert len(found) == len(tasks)
    reasons = {task.moment: found[task.name].error for task in tasks if task.moment}
    for moment in ("receiving", "tracking", "writing"):
        assert "SIGKILL" in reasons[moment] and "memory" in reasons[moment], moment
    assert "known to the runner alone" in reasons["unreadable"]
    assert "no room for the network" in reasons["memory"]
    good = [task for task in tasks if not task.moment]
    assert all(found[task.name].error is None and Path(task.target).exists() for task in good)
    assert not any(Path(task.target).exists() for task in tasks if task.moment)


def test_workers_that_die_before_they_begin(tmp_path, monkeypatch):
    """The runner is sending them a large task at that moment."""
    monkeypatch.setenv("FAULTY_START", str(tmp_path / "died"))
    (tmp_path / "died").mkdir()
    tasks = [FaultyTask(f"{i}", "", str(tmp_path / f"{i}.txt")) for i in range(4)]
    found = outcomes(tasks)
    failed = [outcome.error for outcome in found.values() if outcome.error]
    assert len(found) == 4 and len(failed) == 2
    assert all("SIGKILL" in error for error in failed)


def test_a_script_without_main_guard_gets_a_sentence(tmp_path):
    write_sequence(tmp_path / "data", "one", 3)
    script = tmp_path / "script.py"
    script.write_text(
        "import sys\nfrom pathlib import Path\nfrom pytracking.evaluation import Tracker\n"
        "from pytracking.evaluation.datasets.folder import load\n"
        "from pytracking.evaluation.running import run_dataset\n"
        "run_dataset(load(Path(sys.argv[1])), [Tracker('identity', 'default')], threads=2, progress=False)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, str(script), str(tmp_path / "data")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode != 0
    last = done.stderr.strip().splitlines()[-1]
    assert "WorkerStartError" in last and '__name__ == "__main__"' in last


def full_disk(monkeypatch, matching: str) -> None:
    """Every write to a file whose name contains ``matching`` fails as on a full disk, without a path."""
    write = Path.write_text

    def write_text(self, *arguments, **options):
        if matching in self.name:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(self, *arguments, **options)

    monkeypatch.setattr(Path, "write_text", write_text)


def test_a_full_disk_is_named_and_ends_no_run(sequences, monkeypatch):  # noqa: F811
    full_disk(monkeypatch, "two")
    tracker = Spec(RandomWalk)
    report = run_dataset(sequences, [tracker], progress=False)
    assert (report.computed, [failure.sequence.name for failure in report.failures]) == (2, ["two"])
    message = report.failures[0].message
    assert "No space left" in message and "two" in message and "log could not be written" in message
    assert "two" in report.summary()
    monkeypatch.undo()


def test_the_end_of_a_run_on_a_full_disk_keeps_the_results(sequences, monkeypatch):  # noqa: F811
    from pytracking.evaluation import result_folder

    def fails(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "run.json")

    tracker = Spec(RandomWalk)
    write = result_folder.write_record
    calls = []
    monkeypatch.setattr(
        result_folder, "write_record", lambda *a: write(*a) if not calls.append(a) and len(calls) == 1 else fails()
    )
    with pytest.warns(UserWarning, match="results are complete"):
        report = run_dataset(sequences, [tracker], progress=False)
    assert report.computed == 3 and len(calls) == 2
    monkeypatch.undo()


def test_a_deleted_result_folder_fails_its_sequences_with_the_reason(sequences, monkeypatch):  # noqa: F811
    import shutil

    tracker = Spec(RandomWalk)
    track = RandomWalk.track

    def deleting(self, image, info=None):
        if self._name == "one":
            shutil.rmtree(tracker.results_dir, ignore_errors=True)
        return track(self, image, info)

    monkeypatch.setattr(RandomWalk, "track", deleting)
    report = run_dataset(sequences, [tracker], progress=False)
    assert report.computed + len(report.failures) == 3 and report.failures
    assert "no longer belongs to this run" in report.failures[0].message


def test_a_folder_that_cannot_be_made_names_itself(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="result.txt|file"):
        files.write_text(tmp_path / "file" / "sub" / "result.txt", "x")


def test_what_doctor_calls_ok_can_be_written(tmp_path, monkeypatch):
    assert why_not_writable(tmp_path / "to" / "be" / "made") is None
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").write_text("")
    assert "file" in why_not_writable(tmp_path / "file" / "below")

    def read_only(*_, dir=None, **__):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(dir))

    monkeypatch.setattr("tempfile.TemporaryFile", read_only)
    assert "Read-only" in why_not_writable(tmp_path)

    class OnAFullDisk(io.BytesIO):
        def write(self, _):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("tempfile.TemporaryFile", lambda dir: OnAFullDisk())  # which can still make an empty file
    assert "No space left" in why_not_writable(tmp_path)
    findings = list(folders())
    assert len(findings) == 4 and all(not each.ok and "No space left" in each.state for each in findings)


def test_clocks_may_jump(sequences, monkeypatch):  # noqa: F811
    """The wall clock goes back by a year during a run; results and their times do not notice."""
    import time

    moments = iter(range(10**9, 0, -(10**5)))
    monkeypatch.setattr(time, "time", lambda: float(next(moments)))
    tracker = Spec(RandomWalk)
    report = run_dataset(sequences, [tracker], progress=False)
    assert report.computed == 3
    times = np.concatenate([read_times(times_file(tracker.results_dir, one.name)) for one in sequences])
    assert (times >= 0).all() and (times < 60).all(), "the wall clock's steps are of a day"
    assert run_dataset(sequences, [tracker], progress=False).kept == 3
