"""Results are what they claim: of their data, of their settings, of one run; and none is lost."""
from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from pytracking import run_tracker
from pytracking.evaluation import Tracker
from pytracking.evaluation.datasets.folder import load
from pytracking.evaluation.origin import origin_file
from pytracking.evaluation.result_folder import FolderRun, folder_lock, store_result
from pytracking.evaluation.results import (
    boxes_file,
    is_complete,
    read_boxes,
    read_scores,
    read_times,
    result_names,
    scores_file,
    times_file,
)
from pytracking.evaluation.run_record import RECORD_NAME, ChangedRunError, read_record
from pytracking.evaluation.running import run_dataset
from pytracking.evaluation.sequence import Sequence
from pytracking.evaluation.tracking import SequenceOutput
from tests.evaluation.conftest import write_sequence
from tests.evaluation.trackers import RandomWalk, SignsItsWork, Spec


def run(sequences, tracker=None, **options):
    return run_dataset(sequences, [tracker or Tracker("identity", "default")], progress=False, **options)


def folder() -> Path:
    return Tracker("identity", "default").results_dir


def files() -> dict[str, bytes]:
    """Everything of the folder but its record, which notes the time, and empty locks."""
    kept = [path for path in folder().rglob("*") if path.is_file() and path.suffix != ".lock"]
    return {str(path.relative_to(folder())): path.read_bytes() for path in kept if path.name != RECORD_NAME}


CHANGES = {
    "another first box": {"step": 2.0, "frames": 6, "first_x": 7.5},
    "another length": {"frames": 7},
    "another frame size": {"size": (60, 64)},
    "other frame names": {"suffix": ".bmp"},
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("rerun", [False, True])
def test_a_result_belongs_to_its_data(tmp_path, change, rerun):
    run([write_sequence(tmp_path / "mine", "one"), write_sequence(tmp_path / "mine", "two")])
    before = files()
    options = dict(CHANGES[change])
    first_x = options.pop("first_x", None)
    other = write_sequence(tmp_path / "yours", "one", **options)
    if first_x is not None:
        other.ground_truth_rect[0, 0] = first_x
    with pytest.raises(ChangedRunError) as error:
        run([other], rerun=rerun)
    message = str(error.value)
    assert "6 frames 0001.png to 0006.png of 64x48 with the first box [4, 10, 20, 20]" in message
    named = {"another first box": "[7.5, 10", "another length": "7 frames", "another frame size": "64x60"}
    assert named.get(change, "0006.bmp") in message
    assert "--overwrite" in message and "--run-id" in message
    assert files() == before, "the folder is left as it is"

    report = run([other], overwrite=True)
    assert (report.computed, report.kept) == (1, 0)
    moved = next((folder() / "replaced").iterdir())
    assert (moved / "one.txt").read_bytes() == before["one.txt"]
    assert str(moved) in report.summary()
    assert (folder() / "two.txt").read_bytes() == before["two.txt"]
    assert run([other]).kept == 1


def test_frames_between_the_first_and_the_last_count(tmp_path):
    sequence = write_sequence(tmp_path / "mine", "one")
    run([sequence])
    frames = [frame.replace("0003", "0003b") for frame in sequence.frames]
    with pytest.raises(ChangedRunError, match="frames in between have other names"):
        run([Sequence("one", frames, "test", sequence.ground_truth_rect)])


def test_the_command_refuses_data_of_the_same_name(tmp_path, capsys):
    for place in ("mine", "yours"):
        write_sequence(tmp_path / place, "one")
    moved = tmp_path / "yours" / "one" / "groundtruth_rect.txt"
    moved.write_text(moved.read_text().replace("4,10,20,20", "30,20,20,20", 1))
    command = ["identity", "default", "--dataset_name"]
    assert run_tracker.main([*command, f"folder:{tmp_path / 'mine'}"]) == 0
    capsys.readouterr()
    assert run_tracker.main([*command, f"folder:{tmp_path / 'yours'}"]) == 2
    output = capsys.readouterr()
    assert "[4, 10, 20, 20]" in output.err and "[30, 20, 20, 20]" in output.err
    assert "AUC" not in output.out, "boxes of one sequence must not be scored against another's"
    assert run_tracker.main([*command, f"folder:{tmp_path / 'yours'}", "--overwrite"]) == 0
    assert read_boxes(boxes_file(folder(), "one"))[0].tolist() == [30, 20, 20, 20]


def test_a_dataset_may_be_moved(tmp_path, sequences):
    run(sequences)
    shutil.move(tmp_path / "data", tmp_path / "elsewhere")
    assert run(load(tmp_path / "elsewhere")).kept == len(sequences)


@pytest.mark.parametrize("damage", ["no record", "corrupt record", "another kind of record", "no origin"])
@pytest.mark.parametrize("rerun", [False, True])
def test_results_of_nobody_knows_what_are_not_adopted(sequences, damage, rerun):
    run(sequences)
    record, origin = folder() / RECORD_NAME, origin_file(folder(), "one")
    if damage == "no origin":
        origin.unlink()
    else:
        record.write_text({"corrupt record": '{"tracker": "iden', "another kind of record": "[1, 2]"}.get(damage, ""))
        _ = damage == "no record" and record.unlink()
    before = files()
    with pytest.raises(ChangedRunError, match="their settings are unknown|settings of this result are not on record"):
        run(sequences, rerun=rerun)
    assert files() == before
    assert is_complete(folder(), "one", 6), "it can still be analysed"
    report = run(sequences, overwrite=True)
    assert report.computed == (1 if damage == "no origin" else 3)
    assert run(sequences).kept == 3


def test_rerun_with_a_changed_parameter_deletes_nothing(sequences):
    run(sequences)
    before, changed = files(), {"seconds_per_frame": 0.001}
    with pytest.raises(ChangedRunError, match="seconds_per_frame: 0.0 before, 0.001 now") as error:
        run(sequences[:1], rerun=True, overrides=changed)
    assert "one, three, two (3 in total, 2 for sequences that this run does not compute)" in str(error.value)
    assert "--run-id" in str(error.value) and "--overwrite" in str(error.value)
    assert files() == before
    assert run(sequences).kept == 3

    report = run(sequences[:1], overwrite=True, overrides=changed)
    assert report.computed == 1
    assert "one, three, two (3 in total)" in report.summary()
    (moved,) = (folder() / "replaced").iterdir()
    now = files()
    assert {name: now[f"replaced/{moved.name}/{name}"] for name in before} == before
    assert read_record(moved)["parameters"]["seconds_per_frame"] == 0.0
    assert result_names(folder()) == ["one"]


def test_rerun_replaces_what_it_computes_and_nothing_else(sequences):
    tracker = Spec(RandomWalk)
    run(sequences, tracker)
    times = {each.name: times_file(tracker.results_dir, each.name).stat().st_mtime_ns for each in sequences}
    assert run(sequences[:1], tracker, rerun=True).computed == 1
    after = {each.name: times_file(tracker.results_dir, each.name).stat().st_mtime_ns for each in sequences}
    assert {name for name in times if times[name] != after[name]} == {"one"}


def output_of(number: int, frames: int) -> SequenceOutput:
    return SequenceOutput(np.full((frames, 4), number), np.full(frames, number), np.full(frames, number))


def test_the_first_complete_result_stays(sequences):
    one, frames = sequences[0], len(sequences[0])
    with FolderRun(Tracker("identity", "default"), sequences) as ours:
        assert store_result(folder(), one, ours.settings, output_of(1, frames), 1.0, replace=False)
        assert not store_result(folder(), one, ours.settings, output_of(2, frames), 1.0, replace=False)
        assert read_boxes(boxes_file(folder(), "one"))[0, 0] == 1
        assert store_result(folder(), one, ours.settings, output_of(2, frames), 1.0, replace=True)
        assert read_boxes(boxes_file(folder(), "one"))[0, 0] == 2


def test_what_became_somebody_elses_meanwhile_is_not_touched(tmp_path, sequences):
    one, other = sequences[0], write_sequence(tmp_path / "yours", "one", frames=9)
    with FolderRun(Tracker("identity", "default"), [one]) as ours:
        assert store_result(folder(), other, ours.settings, output_of(1, 9), 1.0, replace=False)
        before = files()
        with pytest.raises(ChangedRunError, match="9 frames.*6 frames"):
            store_result(folder(), one, ours.settings, output_of(2, 6), 1.0, replace=False)
        record = read_record(folder())
        record["parameters"]["seconds_per_frame"] = 1.0
        (folder() / RECORD_NAME).write_text(json.dumps(record))
        with pytest.raises(ChangedRunError, match="no longer belongs to this run"):
            store_result(folder(), sequences[1], ours.settings, output_of(2, 9), 1.0, replace=False)
        assert files() == before


def test_a_folder_in_use_is_not_given_to_other_settings_even_without_results(sequences):
    tracker = Tracker("identity", "default")
    other = tracker.with_overrides({"seconds_per_frame": 1.0})
    with FolderRun(tracker, sequences):
        with FolderRun(tracker, sequences):
            pass  # the same settings are welcome
        for overwrite in (False, True):
            with pytest.raises(ChangedRunError, match="another run with other settings is using"):
                FolderRun(other, sequences, overwrite=overwrite).__enter__()
        assert read_record(folder())["parameters"]["seconds_per_frame"] == 0.0
    with FolderRun(other, sequences):
        assert read_record(folder())["parameters"]["seconds_per_frame"] == 1.0


def test_a_result_is_written_under_the_folders_lock(sequences):
    with FolderRun(Tracker("identity", "default"), sequences) as ours:
        arguments = (folder(), sequences[0], ours.settings, output_of(1, 6), 1.0)
        writer = threading.Thread(target=store_result, args=arguments, kwargs={"replace": False})
        with folder_lock(folder()):
            writer.start()
            writer.join(0.3)
            assert files() == {}, "it waits for whoever holds the lock"
        writer.join()
        assert is_complete(folder(), "one", 6)


def test_a_disk_without_locks_is_told(sequences, monkeypatch):
    def unsupported(*_: object) -> None:
        raise OSError(errno.ENOLCK, "no locks available")

    monkeypatch.setattr("fcntl.flock", unsupported)
    with pytest.warns(UserWarning, match="no locks.*one run at a time"):
        assert run(sequences).computed == 3


def test_an_interrupted_run_has_no_end(sequences):
    with pytest.raises(KeyboardInterrupt), FolderRun(Tracker("identity", "default"), sequences):
        raise KeyboardInterrupt
    assert read_record(folder())["end"] is None
    run(sequences)
    assert read_record(folder())["end"] is not None


PROGRAM = """
import sys
from pathlib import Path
from pytracking.evaluation.datasets.folder import load
from pytracking.evaluation.running import run_dataset
from tests.evaluation.trackers import SignsItsWork, Spec

if __name__ == "__main__":
    report = run_dataset(load(Path(sys.argv[1])), [Spec(SignsItsWork)], threads=int(sys.argv[2]), progress=False,
                         overrides={"seconds_per_frame": 0.0}, rerun=sys.argv[3] == "rerun")
    print(report.computed, report.kept, len(report.failures))
"""


def start(tmp_path: Path, threads: int, rerun: str) -> subprocess.Popen:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, str(program), str(tmp_path / "data"), str(threads), rerun]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for(condition) -> None:
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline, "the runs did not start"
        time.sleep(0.02)


@pytest.mark.parametrize(("threads", "rerun"), [((0, 0), ""), ((2, 0), "rerun")])
def test_two_runs_fill_one_folder_and_a_third_with_other_settings_is_refused(tmp_path, threads, rerun):
    sequences = [write_sequence(tmp_path / "data", f"s{i}", 12, step=1) for i in range(8)]
    two = [start(tmp_path, count, rerun) for count in threads]
    wait_for(lambda: (folder() / RECORD_NAME).exists())
    with pytest.raises(ChangedRunError, match="seconds_per_frame"):
        run_dataset(sequences, [Spec(SignsItsWork)], progress=False, overrides={"seconds_per_frame": 0.5})
    outputs = [process.communicate(timeout=240) for process in two]
    assert [process.returncode for process in two] == [0, 0], outputs

    counts = np.array([[int(word) for word in output.split()] for output, _ in outputs])
    assert (counts.sum(axis=1) == 8).all() and (counts[:, 2] == 0).all()
    for sequence in sequences:
        boxes = read_boxes(boxes_file(folder(), sequence.name))[1:, 0]
        times = read_times(times_file(folder(), sequence.name))[1:]
        scores = read_scores(scores_file(folder(), sequence.name))[1:]
        signed = set(np.concatenate([boxes, times, scores]).tolist())
        assert len(signed) == 1, f"the files of {sequence.name} are of several processes: {signed}"
    assert read_record(folder())["parameters"]["seconds_per_frame"] == 0.0
    if not rerun:
        assert counts[:, 0].sum() == 8, "each result is one run's and counted once"
    assert run_dataset(sequences, [Spec(RandomWalk)], progress=False).kept == 8
