"""Tables, statistics, plots: content, formats, and properties of the tests they rest on."""
from __future__ import annotations

import csv
import io
import math
from pathlib import Path

import cv2
import numpy as np
import pytest
import scipy.stats

from ltr.errors import UserError
from pytracking.analysis import plots, report, statistics
from pytracking.analysis.evaluate import Evaluation, evaluate
from pytracking.analysis.result_sets import ResultSet
from pytracking.analysis.tables import Number, Table
from pytracking.evaluation.sequence import SequenceList


@pytest.fixture
def evaluation(results: list[ResultSet], sequences: SequenceList) -> Evaluation:
    return evaluate(results, sequences, progress=False, workers=1)


def test_overall_table_prints_rule_runs_intervals_and_speed(evaluation: Evaluation) -> None:
    table = report.overall_table(evaluation, "tiny")
    assert table.header[:3] == ["Tracker", "Runs", "AUC"] and table.header[-1] == "fps"
    text = table.render("text")
    assert "tiny (5 sequences, 150 frames)" in text and "rule 'pytracking'" in text and "95 % interval" in text
    auc = evaluation.summary(evaluation.trackers[0]).auc
    low, high = scipy.stats.t.interval(0.95, 2, auc.mean(), scipy.stats.sem(auc))
    assert table.rows[0][2].value == pytest.approx(auc.mean())
    assert table.rows[0][2].interval == pytest.approx((high - low) / 2, rel=1e-4)


def test_every_table_says_its_rule(results: list[ResultSet], sequences: SequenceList) -> None:
    for rule in ("strict", "otb"):
        evaluation = evaluate(results, sequences, rule, progress=False, workers=1)
        tables = [
            report.overall_table(evaluation),
            report.per_sequence_table(evaluation),
            report.attribute_table(evaluation),
            report.head_to_head_table(evaluation, "good", "bad"),
        ]
        for table in tables:
            for style in ("text", "markdown", "latex", "csv"):
                assert f"rule '{rule}'" in table.render(style)


def test_formats_hold_the_same_numbers() -> None:
    table = Table("t", ["Tracker", "AUC"], [["a_b", Number(51.239, 0.5)], ["c", Number(math.nan)]], best=["AUC"])
    assert "51.24 ± 0.50" in table.render("text") and table.render("text").splitlines()[-2].endswith("-")
    assert r"a\_b & \textbf{51.24 $\pm$ 0.50} \\" in table.render("latex")
    assert "| a_b | **51.24 ± 0.50** |" in table.render("markdown")
    rows = list(csv.reader(io.StringIO(table.render("csv"))))
    assert rows == [["Tracker", "AUC", "AUC ± 95 %"], ["a_b", "51.239", "0.5"], ["c", "", ""]]
    with pytest.raises(ValueError, match="one of text, markdown, latex, csv"):
        table.render("html")


def test_per_sequence_table_orders_by_gap(evaluation: Evaluation) -> None:
    table = report.per_sequence_table(evaluation, order="gap")
    gaps = [abs(row[2].value - row[3].value) for row in table.rows[:-1]]
    assert gaps == sorted(gaps, reverse=True)
    assert table.rows[-1][0] == "mean of sequences"
    overall = report.overall_table(evaluation)
    assert table.rows[-1][2].value == pytest.approx(overall.rows[0][2].value)


def test_attribute_table(evaluation: Evaluation, sequences: SequenceList) -> None:
    table = report.attribute_table(evaluation)
    assert [(row[0], row[1]) for row in table.rows] == [("IV", 3), ("OCC", 2), ("SV", 3)]
    for sequence in sequences:
        sequence.attributes.clear()
    with pytest.raises(ValueError, match="have no attributes"):
        report.attribute_table(evaluation)


def test_hard_sequences_need_every_run_above_the_bound(evaluation: Evaluation) -> None:
    auc = evaluation.sequence_scores(evaluation.tracker("good"))  # (runs, sequences)
    bound = float(np.sort(auc.min(axis=0))[2])  # three sequences have a run at or below it
    hard = report.hard_sequences(evaluation, "good", easy_above=bound)
    expected = [name for name, runs in zip(evaluation.names, auc.T, strict=True) if not (runs > bound).all()]
    assert hard.names == expected and len(expected) == 3
    assert report.EASY_AUC == 0.75
    with pytest.raises(UserError, match="no tracker 'other'; there are: good, bad"):
        report.hard_sequences(evaluation, "other")


def test_t_quantiles() -> None:
    for degrees in [*range(1, 31), 31, 40, 49, 100, 1000]:
        assert statistics.t_quantile_975(degrees) == pytest.approx(scipy.stats.t.ppf(0.975, degrees), abs=1e-4)
    assert math.isnan(statistics.mean_and_interval([0.5])[1])


def test_paired_test_exact_for_few_sequences() -> None:
    a, b = np.array([0.9, 0.8, 0.7, 0.6, 0.9]), np.array([0.5, 0.6, 0.6, 0.5, 0.8])
    result = statistics.compare_paired(a, b)
    theirs = scipy.stats.permutation_test(
        (a, b), lambda x, y, axis: (x - y).mean(axis=axis), permutation_type="samples", n_resamples=np.inf
    )
    assert result.p_value == pytest.approx(theirs.pvalue) == 2 / 32
    assert (result.wins, result.losses, result.ties) == (5, 0, 0)
    assert result.low <= result.difference <= result.high


def test_a_single_sequence_gives_no_interval(evaluation: Evaluation) -> None:
    result = statistics.compare_paired([0.9], [0.5])
    assert result.difference == pytest.approx(0.4) and result.wins == 1
    assert np.isnan([result.low, result.high, result.p_value]).all() and result.interval == "-"
    one = evaluation.select(lambda sequence: sequence.name == "seq0")
    rows = dict(report.head_to_head_table(one, "good", "bad").rows[2:5])
    assert rows["95 % interval"] == "-" and rows["p (two-sided)"].shown() == "-"
    assert not math.isnan(rows["difference"].value)


def test_paired_test_with_many_sequences_and_no_difference() -> None:
    rng = np.random.default_rng(0)
    base = rng.uniform(0.3, 0.9, 200)
    same = statistics.compare_paired(base, base)
    assert same.p_value == 1.0 and same.ties == 200
    noise = rng.normal(0, 0.05, 200)
    unclear, clear = statistics.compare_paired(base, base + noise), statistics.compare_paired(base + 0.03 + noise, base)
    assert unclear.p_value > 0.05 and unclear.low < 0 < unclear.high
    assert clear.p_value < 0.001 and clear.low > 0
    assert unclear.p_value == pytest.approx(scipy.stats.ttest_rel(base, base + noise).pvalue, abs=0.03)
    assert statistics.compare_paired(base, base + noise) == unclear  # the same seed, the same numbers


def test_plots_are_written_and_show_the_data(evaluation: Evaluation, tmp_path: Path) -> None:
    written = plots.save_plots(evaluation, "tiny", folder=tmp_path / "figures")
    assert [path.name for path in written[:2]] == ["tiny_success.png", "tiny_success.pdf"] and len(written) == 6
    figure = plots.draw_plot(evaluation, "success")
    pictures = [cv2.imread(str(path)) for path in written if path.suffix == ".png"]
    size = tuple(int(300 * side) for side in figure.get_size_inches()[::-1])
    assert [picture.shape[:2] for picture in pictures] == [size] * 3
    assert all(path.read_bytes()[:5] == b"%PDF-" for path in written if path.suffix == ".pdf")
    (axes,) = figure.axes
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels[0].startswith("good [") and labels[1].startswith("bad [")
    assert "rule 'pytracking'" in axes.get_legend().get_title().get_text()
    curve = evaluation.summary(evaluation.tracker("good")).success_curve.mean(axis=0)
    np.testing.assert_allclose(axes.lines[0].get_ydata(), curve)
    with pytest.raises(ValueError, match="plot: one of success, prec, norm_prec"):
        plots.draw_plot(evaluation, "roc")


def test_plots_go_to_the_settings_folder(evaluation: Evaluation, tmp_path: Path) -> None:
    written = plots.save_plots(evaluation, "mine", ["prec"])
    assert written[0] == tmp_path / "result_plot" / "mine_prec.png"


def test_scripts_written_for_pytracking_still_run(results, sequences, tmp_path: Path, capsys) -> None:
    from pytracking.analysis.plot_results import plot_results, print_per_sequence_results, print_results

    options = {"plot_bin_gap": 0.01, "exclude_invalid_frames": True, "force_evaluation": True}
    table = print_results(results, sequences, "tiny", merge_results=True, plot_types=("success", "prec"), **options)
    assert table.header[2:6] == ["AUC", "OP50", "OP75", "Precision"] and len(table.rows) == 2
    print_per_sequence_results(results, sequences, "tiny", skip_missing_seq=True)
    printed = capsys.readouterr().out
    assert "overlap thresholds every 0.01, only valid frames counted" in printed and "good 002" in printed
    assert plot_results(results, sequences, "tiny")[0] == tmp_path / "result_plot" / "tiny" / "tiny_success.png"
    with pytest.raises(TypeError, match="plot_bin_gaps"):
        print_results(results, sequences, "tiny", plot_bin_gaps=0.01)


def test_memory_of_a_run_reaches_the_table(folder_dataset: Path) -> None:
    from pytracking.evaluation import get_dataset, trackerlist
    from pytracking.evaluation.results import peak_memory_file, read_peak_memory
    from pytracking.evaluation.running import run_dataset

    dataset, trackers = get_dataset(f"folder:{folder_dataset}"), trackerlist("identity", "default", [0])
    assert not run_dataset(dataset, trackers, progress=False).failures
    peaks = [read_peak_memory(peak_memory_file(trackers[0].results_dir, sequence.name)) for sequence in dataset]
    assert all(10 < peak < 1e5 for peak in peaks)
    table = report.overall_table(evaluate(trackers, dataset, progress=False, workers=1))
    assert table.header[-1] == "MiB" and table.rows[0][-1].value == max(peaks)
    assert "MiB: peak memory" in table.render("text")
