"""The runner: resumable, atomic, honest about failures."""
from __future__ import annotations

import json
import multiprocessing
import os
import random
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import cv2
import numpy as np
import pytest
import torch

from pytracking.evaluation import Tracker
from pytracking.evaluation.results import boxes_file, read_boxes, read_scores, read_times, scores_file, times_file
from pytracking.evaluation.run_record import read_record
from pytracking.evaluation.running import run_dataset
from pytracking.utils.threads import threads_of_each
from tests.evaluation.conftest import write_sequence
from tests.evaluation.trackers import CountsThreads, DiesOnTwo, FailsOnTwo, RandomWalk, ReturnsNaN, Slow, Spec


def run(sequences, tracker, threads=0, **options):
    return run_dataset(sequences, [tracker], threads=threads, progress=False, **options)


def contents(folder: Path) -> dict[str, bytes]:
    """Everything that must not depend on how often a run was interrupted."""
    names = [path for path in folder.iterdir() if path.suffix == ".txt" and not path.name.endswith("_time.txt")]
    return {path.name: path.read_bytes() for path in names}


def test_results_are_written_for_every_sequence_and_workers_give_the_same(sequences, tmp_path, monkeypatch):
    tracker, found = Spec(RandomWalk), []
    for threads in (0, 2):
        monkeypatch.setenv("PYTRACKING_RESULTS_PATH", str(tmp_path / f"results{threads}"))
        report = run(sequences, tracker, threads)
        assert (report.computed, report.kept, report.failures) == (3, 0, [])
        found.append(contents(tracker.results_dir))
        for sequence in sequences:
            boxes = read_boxes(boxes_file(tracker.results_dir, sequence.name))
            assert len(boxes) == len(sequence)
            np.testing.assert_allclose(boxes[0], sequence.ground_truth_rect[0])
            assert (read_times(times_file(tracker.results_dir, sequence.name))[1:] >= 0.001).all()
            scores = read_scores(scores_file(tracker.results_dir, sequence.name))
            np.testing.assert_allclose(scores[1:], boxes[1:, 0], atol=0.006)
    assert found[0] == found[1]


def test_second_run_computes_nothing(sequences):
    tracker = Spec(RandomWalk)
    run(sequences, tracker)
    before = boxes_file(tracker.results_dir, "one").stat().st_mtime_ns
    report = run(sequences, tracker)
    assert (report.computed, report.kept) == (0, 3)
    assert boxes_file(tracker.results_dir, "one").stat().st_mtime_ns == before
    assert run(sequences, tracker, rerun=True).computed == 3


def test_results_of_the_wrong_length_are_computed_again(sequences):
    tracker = Spec(RandomWalk)
    run(sequences, tracker)
    file = boxes_file(tracker.results_dir, "two")
    complete = file.read_bytes()
    file.write_bytes(complete[: len(complete) // 2])
    assert run(sequences, tracker).computed == 1
    assert file.read_bytes() == complete


def test_runs_differ_by_their_seed(sequences):
    first, second = Spec(RandomWalk, 0), Spec(RandomWalk, 1)
    run_dataset(sequences, [first, second], progress=False)
    assert first.results_dir != second.results_dir
    assert contents(first.results_dir) != contents(second.results_dir)


@pytest.mark.parametrize(("tracker_class", "threads"), [(FailsOnTwo, 0), (FailsOnTwo, 1), (DiesOnTwo, 2)])
def test_a_failing_sequence_is_logged_and_the_others_go_on(sequences, tracker_class, threads):
    tracker = Spec(tracker_class)
    report = run(sequences, tracker, threads)
    assert report.computed == 2
    assert [failure.sequence.name for failure in report.failures] == ["two"]
    log = report.failures[0].log_file.read_text()
    assert ("the filter has no energy" in log and "Traceback" in log) or "SIGKILL" in log
    assert "FAILED" in report.summary()
    assert str(report.failures[0].log_file) in report.summary()
    assert not boxes_file(tracker.results_dir, "two").exists()
    assert boxes_file(tracker.results_dir, "three").exists()
    healed = Spec(RandomWalk)
    assert healed.results_dir == tracker.results_dir
    assert run(sequences, healed).failures == []
    assert not report.failures[0].log_file.exists(), "a log that no longer holds is removed"


def test_a_box_that_is_not_a_number_fails_its_sequence(sequences):
    report = run(sequences[:1], Spec(ReturnsNaN))
    assert "frame 3 of sequence 'one'" in report.failures[0].message
    assert contents(Spec(ReturnsNaN).results_dir) == {}


def test_each_worker_gets_its_share_of_the_cores(sequences):
    tracker = Spec(CountsThreads)
    run(sequences[:2], tracker, threads=2)
    share = threads_of_each(2)
    for sequence in sequences[:2]:
        box = read_boxes(boxes_file(tracker.results_dir, sequence.name))[-1]
        assert box.tolist() == [10, 10, share, share]
    assert share == max(1, len(os.sched_getaffinity(0)) // 2)


def test_sequences_of_the_same_name_are_refused(sequences):
    with pytest.raises(ValueError, match="one"):
        run([*sequences, sequences[0]], Spec(RandomWalk))


def test_run_record_says_what_made_the_results(sequences):
    tracker = Tracker("opencv", "kcf", 2)
    run(sequences[:1], tracker)
    record = read_record(tracker.results_dir)
    assert record["tracker"] == "opencv"
    assert record["run_id"] == 2
    assert record["parameters"]["algorithm"] == "kcf"
    assert record["weights_sha256"] is None
    assert record["packages"]["torch"]
    assert record["start"] <= record["end"]
    assert json.loads((tracker.results_dir / "run.json").read_text()) == record


def _evaluate(sequences) -> None:
    """In a forked process, which has none of the threads that libraries of the parent would wait for."""
    torch.set_num_threads(1)
    cv2.setNumThreads(0)
    run(sequences, Spec(RandomWalk))


def test_twenty_kills_at_random_moments_change_nothing(tmp_path, monkeypatch):
    sequences = [write_sequence(tmp_path / "data", f"s{i}", 10 + i, step=1) for i in range(12)]
    monkeypatch.setenv("PYTRACKING_RESULTS_PATH", str(tmp_path / "undisturbed"))
    run(sequences, undisturbed := Spec(RandomWalk))
    expected = contents(undisturbed.results_dir)
    assert len(expected) == 24

    monkeypatch.setenv("PYTRACKING_RESULTS_PATH", str(tmp_path / "killed"))
    folder = Spec(RandomWalk).results_dir
    moments, context, cut = random.Random(7), multiprocessing.get_context("fork"), 0
    for _ in range(20):
        process = context.Process(target=_evaluate, args=(sequences,))
        process.start()
        time.sleep(moments.uniform(0.0, 0.12))
        process.kill()
        process.join()
        cut += process.exitcode == -signal.SIGKILL
        for name, content in contents(folder).items() if folder.is_dir() else ():
            assert name.startswith(".") or content == expected[name], "a file that has its name is complete"
    assert cut > 0, "every run ended before it was killed: nothing was tested"
    assert run(sequences, Spec(RandomWalk)).failures == []
    assert contents(folder) == expected
    assert not [path for path in folder.iterdir() if path.name.startswith(".")], "what kills left behind is removed"


def _evaluate_until_a_file_is_too_large(sequences, size: int) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # the kernel kills it in the middle of the write
    _evaluate(sequences)


def test_dying_in_the_middle_of_a_write_leaves_no_result(tmp_path):
    sequences = [write_sequence(tmp_path / "data", f"s{i}", 110, step=0.1) for i in range(2)]
    folder = Spec(RandomWalk).results_dir
    process = multiprocessing.get_context("fork").Process(
        target=_evaluate_until_a_file_is_too_large, args=(sequences, 2000)
    )
    process.start()
    process.join(60)
    if process.exitcode is None:
        process.kill()
    assert process.exitcode == -signal.SIGXFSZ
    unfinished = [path for path in folder.iterdir() if path.stat().st_size == 2000]
    assert len(unfinished) == 1, "it died while it wrote the boxes"
    assert not boxes_file(folder, "s0").exists()
    assert run(sequences, Spec(RandomWalk)).computed == 2
    assert not unfinished[0].exists()


PROGRAM = """
import signal
import sys
from pathlib import Path
from pytracking.evaluation.datasets.folder import load
from pytracking.evaluation.running import run_dataset
from tests.evaluation.trackers import Slow, Spec

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a suite in the background ignores Ctrl-C
    run_dataset(load(Path(sys.argv[1])), [Spec(Slow)], threads=2, progress=False)
"""


def _start(tmp_path: Path) -> tuple[subprocess.Popen, list[int]]:
    """A run with two workers in its own process group, and the workers' numbers once both track."""
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, str(program), str(tmp_path / "data")]
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # ignored where the tests run under nohup, and inherited
    process = subprocess.Popen(command, env=environment, start_new_session=True, stderr=subprocess.DEVNULL)
    signal.signal(signal.SIGHUP, before)
    deadline = time.monotonic() + 240
    while time.monotonic() < deadline and process.poll() is None:
        workers = [int(path.suffix[1:]) for path in (tmp_path / "results").glob("started.*")]
        if len(workers) == 2:
            return process, workers
        time.sleep(0.05)
    process.kill()
    raise AssertionError("the workers did not start")


def _is_alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().split(") ")[1][0] != "Z"
    except OSError:
        return False


def _all_gone(processes: list[int], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if not any(_is_alive(process) for process in processes):
            return True
        time.sleep(0.05)
    return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at processes through Linux's /proc")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
def test_workers_end_with_the_run(tmp_path, sequences, how):
    process, workers = _start(tmp_path)
    if how in (signal.SIGINT, signal.SIGHUP):
        os.killpg(process.pid, how)  # as a terminal does on Ctrl-C, and when it closes
    else:
        process.send_signal(how)
    try:
        process.wait(timeout=20)
        assert _all_gone(workers, 20)
        assert process.returncode != 0
        assert contents(Spec(Slow).results_dir) == {}, "nothing half-written"
    finally:
        for worker in workers:
            if _is_alive(worker):
                os.kill(worker, signal.SIGKILL)
