"""Submissions: content, validation of what was written, and the errors before."""
from __future__ import annotations

import csv
import io
import zipfile
from pathlib import Path

import numpy as np
import pytest

from pytracking.evaluation import submission
from pytracking.evaluation.results import write_boxes, write_scores, write_times
from pytracking.evaluation.sequence import Sequence
from pytracking.evaluation.submission import SubmissionError, pack

LENGTHS = {"a_0": 5, "b_1": 8}


@pytest.fixture
def sequences() -> list[Sequence]:
    made = []
    for number, (name, frames) in enumerate(LENGTHS.items()):
        facts = {"video": f"vid{number}", "object": "obj0", "first_frame": 10, "image_size": (100.0, 50.0)}
        truth = np.array([[10.0, 5, 20, 10]])
        made.append(Sequence(name, [f"{n}.jpg" for n in range(frames)], "any", truth, attributes=facts))
    return made


def write_run(folder: Path, offset: float = 0.0) -> Path:
    for name, frames in LENGTHS.items():
        boxes = np.tile([10.0 + offset, 5, 20, 10], (frames, 1))
        write_boxes(folder / f"{name}.txt", boxes)
        write_times(folder / f"{name}_time.txt", np.full(frames, 0.04 + offset / 100))
        write_scores(folder / f"{name}_object_presence_scores.txt", np.linspace(1, 0, frames))
    return folder


def test_trackingnet(sequences: list[Sequence], tmp_path: Path) -> None:
    done = pack("trackingnet", [write_run(tmp_path / "run")], sequences, tmp_path / "out.zip")
    assert (done.sequences, done.files) == (2, 2)
    with zipfile.ZipFile(done.path) as archive:
        assert sorted(archive.namelist()) == ["a_0.txt", "b_1.txt"]
        assert archive.read("a_0.txt").decode().splitlines() == ["10.00,5.00,20.00,10.00"] * 5


def test_got10k_repetitions_and_times(sequences: list[Sequence], tmp_path: Path) -> None:
    runs = [write_run(tmp_path / f"run{n}", offset=n) for n in range(3)]
    done = pack("got10k", runs, sequences, tmp_path / "out.zip")
    assert done.files == 8
    with zipfile.ZipFile(done.path) as archive:
        assert "b_1/b_1_003.txt" in archive.namelist()
        assert archive.read("b_1/b_1_002.txt").decode().splitlines()[0] == "11.000,5.000,20.000,10.000"
        assert archive.read("a_0/a_0_time.txt").decode().splitlines()[0] == "0.04000000,0.05000000,0.06000000"
    with pytest.raises(SubmissionError, match="4 runs given, 1 to 3 accepted"):
        pack("got10k", [*runs, runs[0]], sequences, tmp_path / "more.zip")
    (runs[1] / "a_0_time.txt").unlink()
    with pytest.raises(SubmissionError, match=r"run1/a_0_time\.txt"):
        pack("got10k", runs, sequences, tmp_path / "again.zip")


def test_oxuva_rows(sequences: list[Sequence], tmp_path: Path) -> None:
    done = pack("oxuva", [write_run(tmp_path / "run")], sequences, tmp_path / "csvs", presence_threshold=0.5)
    rows = list(csv.DictReader(io.StringIO((done.path / "vid1_obj0.csv").read_text())))
    assert [int(row["frame_num"]) for row in rows] == list(range(11, 18))
    assert [row["present"] for row in rows] == ["true"] * 3 + ["false"] * 4
    assert [float(rows[0][key]) for key in ("xmin", "xmax", "ymin", "ymax")] == [0.1, 0.3, 0.1, 0.3]
    with pytest.raises(SubmissionError, match="already exists"):
        pack("oxuva", [tmp_path / "run"], sequences, done.path)


def test_lasot(sequences: list[Sequence], tmp_path: Path) -> None:
    done = pack("lasot", [write_run(tmp_path / "run")], sequences, tmp_path / "mine_tracking_result")
    assert (done.path / "a_0.txt").read_text().splitlines()[0] == "10.0000,5.0000,20.0000,10.0000"


def test_problems_are_listed_and_nothing_is_written(sequences: list[Sequence], tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    (run / "a_0.txt").write_text("1,2,3,4\n")
    (run / "b_1.txt").unlink()
    with pytest.raises(SubmissionError, match=r"2 of 2 sequences cannot be packed:\n.*1 rows for 5 frames\n.*b_1\.txt"):
        pack("trackingnet", [run], sequences, tmp_path / "out.zip")
    assert not (tmp_path / "out.zip").exists()


def test_got10k_needs_a_time(sequences: list[Sequence], tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    write_times(run / "a_0_time.txt", np.zeros(LENGTHS["a_0"]))
    with pytest.raises(SubmissionError, match="a_0: no time is positive"):
        pack("got10k", [run], sequences, tmp_path / "out.zip")
    assert not (tmp_path / "out.zip").exists()


@pytest.mark.parametrize(
    "spoil",
    [
        lambda files: {k: v for k, v in files.items() if k != "a_0.txt"},
        lambda files: {**files, "a_0.txt": files["a_0.txt"][:-7]},
        lambda files: {**files, "a_0.txt": files["a_0.txt"][:-5]},
        lambda files: {**files, "a_0.txt": files["a_0.txt"] * 2},
        lambda files: {**files, "a_0.txt": files["a_0.txt"].replace("20.00", "nan", 1)},
        lambda files: {**files, "a_0.txt": files["a_0.txt"].replace("20.00", "-1.0", 1)},
    ],
)
def test_what_was_written_is_checked(spoil, sequences, tmp_path: Path, monkeypatch) -> None:
    real = submission.read_files
    monkeypatch.setattr(submission, "read_files", lambda path: spoil(real(path)))
    with pytest.raises(SubmissionError, match="differs from what was written"):
        pack("trackingnet", [write_run(tmp_path / "run")], sequences, tmp_path / "out.zip")
    assert not (tmp_path / "out.zip").exists()
