"""``python -m pytracking analyze``, ``pack`` and ``play``, end to end."""
from __future__ import annotations

import re
from pathlib import Path

import pytest

from experiments.definition import Benchmark, Experiment
from experiments.report import write_report
from experiments.selection import Selection, jobs_of
from pytracking import run_tracker
from pytracking.__main__ import main
from pytracking.evaluation import get_dataset
from pytracking.video.sources import open_source


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
    assert "2 runs given, 1 to 1 accepted" in capsys.readouterr().err


def test_play_takes_the_sequence_where_trackers_differ_most(dataset: str, tmp_path: Path, capsys) -> None:
    assert main(["play", dataset, "good/default", "bad/default", "--output", str(tmp_path / "pages")]) == 0
    (page,) = (tmp_path / "pages").iterdir()
    assert page.suffix == ".html" and f"page: {page}" in capsys.readouterr().out
    assert main(["play", dataset, "good/default", "--video", "--sequence", "seq2", "--output", str(tmp_path)]) == 0
    video = next(path for path in tmp_path.iterdir() if path.suffix in (".mp4", ".webm"))
    with open_source(str(video)) as source:
        assert video.stem == "seq2" and len(list(source)) == len(get_dataset(dataset)["seq2"])
    assert main(["play", dataset, "good/default", "--sequence", "seq9"]) == 2
    assert "no sequence 'seq9'" in capsys.readouterr().err


def auc_of(line: str) -> str:
    return re.findall(r"\d\.\d{3}", line)[0]


def test_one_folder_has_one_score_in_every_command(folder_dataset: Path, tmp_path: Path, capsys) -> None:
    """The summary of a run, `analyze`, `play` and an experiment's report print the same AUC under the same rule."""
    name = f"folder:{folder_dataset}"
    assert run_tracker.main(["identity", "default", "--runid", "0", "--dataset_name", name]) == 0
    summary = capsys.readouterr().out
    assert main(["analyze", name, "identity/default", "--per-sequence"]) == 0
    analysis = capsys.readouterr().out
    assert main(["play", name, "identity/default", "--sequence", "seq1", "--output", str(tmp_path)]) == 0
    played = capsys.readouterr().out
    benchmark = Benchmark(dataset=name, trackers={"still": "identity:default"}, metrics=("success",))
    experiment = Experiment(name="one", title="one", runs=1, benchmarks=(benchmark,))
    report = write_report(experiment, jobs_of(experiment, Selection()))

    def line(text: str, start: str) -> str:
        return next(row for row in text.splitlines() if row.lstrip().startswith(start))

    mean, one = auc_of(line(summary, "mean of sequences")), auc_of(line(summary, "seq1"))
    assert mean == auc_of(line(analysis, "identity/default")) == auc_of(line(report, "| still"))
    assert one == auc_of(line(analysis, "seq1")) == auc_of(line(played, "AUC by rule"))
    assert all("rule 'pytracking'" in text for text in (summary, analysis, played, report))


@pytest.mark.parametrize(
    "flags",
    [
        ["--versus", "Ours", "bad/default"],
        ["--versus", "good/default:0-1", "bad/default:0"],
        ["--versus", "Ours=good/default:0-1", "bad/default"],
    ],
)
def test_versus_takes_every_name_that_analyze_takes(dataset: str, capsys, flags: list[str]) -> None:
    assert main(["analyze", dataset, "Ours=good/default:0-1", "bad/default:0", *flags]) == 0
    assert "Ours against bad/default" in capsys.readouterr().out
    assert main(["analyze", dataset, "Ours=good/default:0-1", "bad/default:0", "--hard", flags[-1]]) == 0
    assert "p (two-sided)" not in capsys.readouterr().out


def test_versus_of_a_network_that_stands_in(dataset: str, tmp_path: Path, capsys) -> None:
    for number in range(2):
        folder = tmp_path / "results" / "good"
        (folder / f"default_{number:03d}").rename(folder / f"default@small_{number:03d}")
    assert main(["analyze", dataset, "good/default", "bad/default", "--versus", "good/default", "bad/default"]) == 0
    assert "good/default@small against bad/default" in capsys.readouterr().out


def test_two_selections_of_runs_are_two_rows(dataset: str, capsys) -> None:
    specs = ["good/default:0", "good/default:1"]
    assert main(["analyze", dataset, *specs, "--versus", *specs]) == 0
    assert "good/default:0 against good/default:1" in capsys.readouterr().out


def test_a_name_that_means_two_rows_or_none_is_refused_before_scoring(dataset: str, tmp_path: Path, capsys) -> None:
    (tmp_path / "results" / "bad" / "default_000" / "seq1.txt").write_text("broken")
    arguments = ["analyze", dataset, "good/default", "bad/default", "--per-run"]
    assert main([*arguments, "--versus", "good/default", "bad/default 000"]) == 2
    assert "'good/default' means 2 rows; write one of: good/default 000, good/default 001" in capsys.readouterr().err
    assert main([*arguments, "--hard", "goode/default"]) == 2
    assert "Did you mean 'good/default 00" in capsys.readouterr().err
