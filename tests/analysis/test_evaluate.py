"""Evaluation of result files: numbers, cache, damaged files, missing files, archives."""
from __future__ import annotations

import ast
import importlib.util
import os
import shutil
import zipfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from pytracking.analysis import RULES, score_cache, score_sequence, summarise
from pytracking.analysis import score_files as workers
from pytracking.analysis.evaluate import MissingResultsError, evaluate
from pytracking.analysis.result_sets import ResultSet, Run, as_result_sets, find_results
from pytracking.evaluation.results import ResultFileError, read_boxes
from pytracking.evaluation.sequence import SequenceList

QUIET = {"progress": False, "workers": 1}


@pytest.mark.parametrize("rule", sorted(RULES))
def test_numbers_are_those_of_the_pure_functions(rule: str, results: list[ResultSet], sequences: SequenceList) -> None:
    evaluation = evaluate(results, sequences, rule, **QUIET)
    for row, tracker in zip(results, evaluation.trackers, strict=True):
        summary = evaluation.summary(tracker)
        for number, run in enumerate(row.runs):
            expected = summarise(
                [
                    score_sequence(
                        read_boxes(run.path / f"{s.name}.txt"),
                        s.ground_truth_rect,
                        RULES[rule].for_dataset(s.dataset),
                        visible=s.target_visible,
                    )
                    for s in sequences
                ],
                rule,
            )
            for name in ("auc", "op50", "precision", "normalised_precision", "average_overlap"):
                assert float(getattr(summary, name)[number]) == pytest.approx(float(getattr(expected, name)), abs=1e-12)
        assert tracker.frames_per_second == pytest.approx(20.0)


def test_parallel_and_serial_agree(results: list[ResultSet], sequences: SequenceList, tmp_path: Path) -> None:
    more = list(results)
    for number, each in enumerate(results):  # a worker is given 40 files at a time
        copies = [Run(shutil.copytree(run.path, tmp_path / f"{number}_{run.path.name}")) for run in each.runs]
        more.append(ResultSet(f"{each.name} again", tuple(copies)))
    assert sum(len(each.runs) for each in more) * len(sequences) == 60
    parallel = evaluate(more, sequences, workers=2, progress=False, cache=False)
    serial = evaluate(more, sequences, cache=False, **QUIET)
    for a, b in zip(parallel.trackers, serial.trackers, strict=True):
        np.testing.assert_array_equal(parallel.summary(a).auc, serial.summary(b).auc)


def test_cache_is_used_and_never_stale(results: list[ResultSet], sequences: SequenceList, monkeypatch) -> None:
    first = evaluate(results, sequences, **QUIET)
    scored = []
    real = workers.score_file
    monkeypatch.setattr(workers, "score_file", lambda job, key, run: scored.append(run) or real(job, key, run))
    again = evaluate(results, sequences, **QUIET)
    assert not scored
    np.testing.assert_array_equal(first.summary(first.trackers[0]).auc, again.summary(again.trackers[0]).auc)

    path = results[0].runs[1].path / "seq2.txt"
    before, stamp = read_boxes(path), path.stat()
    path.write_text("".join("\t".join(f"{v:.2f}" for v in box) + "\n" for box in before + [3, 0, 0, 0]))
    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))  # the same time and nearly the same size
    changed = evaluate(results, sequences, **QUIET)
    assert [run.path for run in scored] == [results[0].runs[1].path]
    assert changed.summary(changed.trackers[0]).auc[1] != first.summary(first.trackers[0]).auc[1]

    scored.clear()
    sequences[0].ground_truth_rect[5, 0] += 1
    evaluate(results, sequences, **QUIET)
    assert len(scored) == 6  # all runs of the sequence whose annotation changed
    scored.clear()
    evaluate(results, sequences, "strict", **QUIET)
    assert len(scored) == 30


@pytest.mark.parametrize("name", ["pytracking.analysis.metrics", "ltr.sequence_files"])
def test_changed_scoring_code_is_noticed(name, results, sequences, tmp_path: Path, monkeypatch) -> None:
    evaluate(results, sequences, **QUIET)
    scored, real, find_spec = [], workers.score_file, importlib.util.find_spec
    monkeypatch.setattr(workers, "score_file", lambda job, key, run: scored.append(run) or real(job, key, run))
    edited = tmp_path / "edited.py"
    edited.write_bytes(Path(find_spec(name).origin).read_bytes() + b"# changed\n")
    changed = SimpleNamespace(origin=str(edited))
    monkeypatch.setattr(importlib.util, "find_spec", lambda asked: changed if asked == name else find_spec(asked))
    score_cache.code_digest.cache_clear()  # as in a new process
    try:
        evaluate(results, sequences, **QUIET)
    finally:
        score_cache.code_digest.cache_clear()
    assert len(scored) == 30


def test_every_module_that_touches_a_score_is_part_of_the_cache_key() -> None:
    """Follows the imports of what a worker runs."""
    # finding files and describing sequences: what they yield is itself part of the key
    no_numbers = {"result_sets", "sequence", "tracker", "environment", "errors", "run_folders", "seeds"}
    reached, waiting = set(), {"pytracking.analysis.score_files"}
    while waiting:
        module = waiting.pop()
        reached.add(module)
        for node in ast.walk(ast.parse(Path(importlib.util.find_spec(module).origin).read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names = [node.module] if isinstance(node, ast.ImportFrom) else names
            if names == ["pytracking.analysis"]:
                names = [f"pytracking.analysis.{alias.name}" for alias in node.names]
            for name in names:
                ours = name.startswith(("ltr.", "pytracking.analysis.", "pytracking.evaluation."))
                if ours and name.rsplit(".", 1)[1] not in no_numbers and name not in reached:
                    waiting.add(name)
    assert reached == set(score_cache.SCORING_MODULES)


def test_a_damaged_cache_is_computed_again(results: list[ResultSet], sequences: SequenceList, tmp_path: Path) -> None:
    first = evaluate(results, sequences, **QUIET)
    files = list((tmp_path / "cache").rglob("*.npz"))
    assert len(files) == 6
    for path in files:
        path.write_bytes(path.read_bytes()[:100])
    again = evaluate(results, sequences, **QUIET)
    np.testing.assert_array_equal(first.summary(first.trackers[1]).auc, again.summary(again.trackers[1]).auc)


def test_lengths_allowed_once_do_not_slip_past_the_check(results: list[ResultSet], sequences: SequenceList) -> None:
    path = results[0].runs[0].path / "seq1.txt"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-4]))
    evaluate(results, sequences, lengths="rule", **QUIET)
    with pytest.raises(ResultFileError, match="line 27: the file ends early"):
        evaluate(results, sequences, **QUIET)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda lines: lines[:20], r"seq1\.txt, line 21: the file ends early \(20 rows for 30 frames\)"),
        (lambda lines: lines + lines[:3], r"seq1\.txt, line 31: more rows than frames \(33 rows for 30 frames\)"),
        (lambda lines: [*lines[:9], "nan\tnan\tnan\tnan", *lines[10:]], r"seq1\.txt, line 10: not finite"),
        (lambda lines: [*lines[:9], "1\t2\t-3\t4", *lines[10:]], r"seq1\.txt, line 10: negative size"),
        (lambda lines: [*lines[:9], "x y w h", *lines[10:]], r"seq1\.txt, line 10: not numbers"),
        (lambda lines: [*lines[:9], "1\t2\t3", *lines[10:]], r"seq1\.txt, line 10: 3 numbers, expected 4"),
        (lambda lines: [*lines[:9], "1\t2\t3", "1\t2\t3\t4\t5", *lines[11:]], r"seq1\.txt, line 10: 3 numbers"),
        (lambda lines: [], r"seq1\.txt: the file is empty"),
    ],
)
def test_damaged_result_files_give_no_number(
    damage, message: str, results: list[ResultSet], sequences: SequenceList
) -> None:
    path = results[1].runs[2].path / "seq1.txt"
    path.write_text("\n".join(damage(path.read_text().splitlines())))
    with pytest.raises(ResultFileError, match=message):
        evaluate(results, sequences, **QUIET)


def test_missing_results_are_named_or_left_out(results: list[ResultSet], sequences: SequenceList) -> None:
    (results[1].runs[0].path / "seq3.txt").unlink()
    with pytest.raises(MissingResultsError, match=r"1 result files are missing:\n.*bad/default_000/seq3\.txt"):
        evaluate(results, sequences, **QUIET)
    evaluation = evaluate(results, sequences, missing="skip", **QUIET)
    assert evaluation.left_out == ("seq3",) and evaluation.names == ["seq0", "seq1", "seq2", "seq4"]


def test_sequences_without_public_truth_are_refused(results: list[ResultSet], sequences: SequenceList) -> None:
    sequences[0].ground_truth_rect = sequences[0].ground_truth_rect[:1]
    with pytest.raises(ValueError, match="the benchmark's server scores them"):
        evaluate(results, sequences, **QUIET)


def test_published_archives_are_read(results: list[ResultSet], sequences: SequenceList, tmp_path: Path) -> None:
    published = tmp_path / "published" / "good"
    published.mkdir(parents=True)
    for number, run in enumerate(results[0].runs):
        with zipfile.ZipFile(published / f"default_{number:03d}.zip", "w") as archive:
            for sequence in sequences:  # integers and commas, in a folder of the archive, as pytracking's are
                boxes = read_boxes(run.path / f"{sequence.name}.txt").astype(int)
                text = "".join(",".join(map(str, box)) + "\n" for box in boxes)
                archive.writestr(f"default_{number:03d}/{sequence.name}.txt", text)
    found = find_results("Published=good/default", tmp_path / "published")
    assert found.name == "Published" and len(found.runs) == 3
    evaluation = evaluate([found], sequences, **QUIET)
    assert 0.5 < float(evaluation.summary(evaluation.trackers[0]).auc.mean()) < 1
    assert np.isnan(evaluation.trackers[0].frames_per_second)


def test_finding_results(tmp_path: Path) -> None:
    for name in ("dimp50", "dimp50_000", "dimp50_001", "dimp50_vot_000", "dimp18@mobile_000", "dimp18@mobile_001"):
        (tmp_path / "dimp" / name).mkdir(parents=True)
    names = lambda spec: [run.path.name for run in find_results(spec, tmp_path).runs]  # noqa: E731
    assert names("dimp/dimp50") == ["dimp50_000", "dimp50_001"]
    assert names("dimp/dimp50:1") == ["dimp50_001"]
    assert names("dimp/dimp50_vot") == ["dimp50_vot_000"]
    fallback = find_results("dimp/dimp18", tmp_path)
    assert fallback.name == "dimp/dimp18@mobile" and len(fallback.runs) == 2  # the table says which network ran
    with pytest.raises(FileNotFoundError, match="no run 2 .* there is: 0, 1"):
        find_results("dimp/dimp50:0-2", tmp_path)
    with pytest.raises(FileNotFoundError, match="Did you mean 'dimp50'"):
        find_results("dimp/dimp5", tmp_path)
    with pytest.raises(FileNotFoundError, match="There are: dimp"):
        find_results("atom/default", tmp_path)
    with pytest.raises(ValueError, match="expected \\[NAME=\\]TRACKER/PARAM"):
        find_results("dimp", tmp_path)


def test_runs_merge_by_display_name(results: list[ResultSet]) -> None:
    apart = as_result_sets(results, merge=False)
    assert [row.name for row in apart[:2]] == ["good 000", "good 001"] and len(apart) == 6
    assert [len(row.runs) for row in as_result_sets(results)] == [3, 3]
    with pytest.raises(ValueError, match="has no runs"):
        ResultSet("empty", ())
    assert Run(Path("nowhere")).boxes("seq0") is None
