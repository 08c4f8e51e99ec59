"""``python -m pytracking analyze``, ``pack`` and ``play``, end to end."""
from __future__ import annotations

from pathlib import Path

import pytest

from pytracking.__main__ import main
from pytracking.evaluation import get_dataset


@pytest.fixture
def dataset(folder_dataset: Path, tmp_path: Path, make_results) -> str:
    """A dataset with results of two trackers."""
    name = f"folder:{folder_dataset}"
    sequences = get_dataset(name)
    make_results(tmp_path / "results", "good", sequences, 1.0, runs=2, seed=1)
    make_results(tmp_path / "results", "bad", sequences, 9.0, runs=2, seed=2)
    return name


def test_analyze_tables_and_plots(dataset: str, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    assert main(
        ["analyze", dataset, "Ours=good/default", "bad/default", "--per-sequence", "--versus", "Ours", "bad/default"]
        + ["--plots", "success", "--name", "mine", "--rule", "strict"]
    ) == 0
    printed = capsys.readouterr().out
    assert "mine (3 sequences, 90 frames)" in printed and "rule 'strict'" in printed
    assert "Ours against bad/default" in printed and "p (two-sided)" in printed
    assert (tmp_path / "result_plot" / "mine_success.pdf").exists()


def test_analyze_writes_a_file_and_lists_results(dataset: str, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    output = tmp_path / "table.tex"
    assert main(["analyze", dataset, "good/default", "--per-run", "--format", "latex", "--output", str(output)]) == 0
    assert output.read_text().count("good/default 00") == 2 and r"\bottomrule" in output.read_text()
    capsys.readouterr()
    assert main(["analyze", dataset]) == 0
    assert capsys.readouterr().out.split() == ["bad/default", "good/default"]


def test_analyze_errors_are_one_line_and_no_traceback(dataset: str, tmp_path: Path, capsys) -> None:
    assert main(["analyze", dataset, "good/defualt"]) == 2
    assert "Did you mean 'default'" in capsys.readouterr().err
    (tmp_path / "results" / "good" / "default_001" / "seq1.txt").write_text("1 2 3 4\n")
    assert main(["analyze", dataset, "good/default"]) == 2
    assert "seq1.txt, line 2: the file ends early" in capsys.readouterr().err


def test_analyze_annotations_without_frames(dataset: str, tmp_path: Path, capsys, folder_dataset: Path) -> None:
    folder = tmp_path / "annotations"
    (folder / "absent").mkdir(parents=True)
    for source in folder_dataset.glob("*/groundtruth_rect.txt"):
        (folder / f"{source.parent.name}.txt").write_text(source.read_text())
    (folder / "absent" / "seq0.txt").write_text("0\n" * 20 + "1\n" * 10)
    assert main(["analyze", "lasot", "good/default", "--annotations", str(folder), "--rule", "strict"]) == 0
    assert "lasot (3 sequences, 90 frames)" in capsys.readouterr().out
    (folder / "absent" / "seq0.txt").write_text("0\n" * 3)
    assert main(["analyze", "lasot", "good/default", "--annotations", str(folder)]) == 2
    assert "3 flags for 30 boxes" in capsys.readouterr().err


def test_analyze_hard_sequences(dataset: str, capsys: pytest.CaptureFixture) -> None:
    assert main(["analyze", dataset, "bad/default", "--hard", "bad/default"]) == 0
    assert "hard sequences of bad/default (3 sequences" in capsys.readouterr().out
    assert main(["analyze", dataset, "good/default", "--hard", "good/default"]) == 2
    assert "exceeds an AUC of 0.75 on all sequences" in capsys.readouterr().err


def test_pack(dataset: str, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    output = tmp_path / "submission.zip"
    assert main(["pack", "trackingnet", "good/default:1", "--dataset", dataset, "--output", str(output)]) == 0
    assert "3 sequences" in capsys.readouterr().out and output.exists()
    assert main(["pack", "trackingnet", "good/default", "--dataset", dataset, "--output", str(output)]) == 2
    assert "2 runs given, takes 1 to 1" in capsys.readouterr().err


def test_play_takes_the_sequence_where_trackers_differ_most(dataset: str, tmp_path: Path, capsys) -> None:
    assert main(["play", dataset, "good/default", "bad/default", "--output", str(tmp_path / "pages")]) == 0
    (page,) = (tmp_path / "pages").iterdir()
    assert page.suffix == ".html" and f"page: {page}" in capsys.readouterr().out
    assert main(["play", dataset, "good/default", "--video", "--sequence", "seq2", "--output", str(tmp_path)]) == 0
    video = next(path for path in tmp_path.iterdir() if path.suffix in (".mp4", ".webm"))
    assert video.stem == "seq2" and video.stat().st_size > 1000
    assert main(["play", dataset, "good/default", "--sequence", "seq9"]) == 2
    assert "no sequence 'seq9'" in capsys.readouterr().err
