"""The paper's measures against calculations by hand; the runs are the toolkit's own reset loop."""
import itertools
import math

import pytest

from pytracking.__main__ import main
from pytracking.vot_integration.execution import open_workspace
from pytracking.vot_integration.report import make_report, reliability, tracker_row
from tests.vot import miniature


def evaluate(folder, tracker, experiments=("baseline", "realtime", "unsupervised")):
    """Runs the toolkit's experiments with an in-process tracker; returns the row of the report."""
    workspace = open_workspace(folder)
    for name in experiments:
        experiment = workspace.stack[name]
        for sequence in experiment.transform(list(workspace.dataset)):
            experiment.execute(tracker, sequence)
    return tracker_row(workspace, tracker)


def test_a_perfect_tracker(make_workspace, two_sequences, in_process):
    row = evaluate(make_workspace(two_sequences), in_process("Perfect"))
    # Sequence 1 has 8 frames, fewer than the burn-in of 10: the toolkit calls its accuracy 0, with weight 8 of 38.
    assert [part.accuracy for part in row.sequences] == [1, 0]
    assert row.accuracy == pytest.approx(30 / 38)
    assert (row.failures, row.robustness, row.reliability) == (0, 0, 1)
    assert (row.eao, row.realtime_eao) == (1, 1)
    assert row.minus_log_reliability == 0 and math.copysign(1, row.minus_log_reliability) == 1


def test_a_perfect_tracker_on_sequences_longer_than_the_burn_in(make_workspace, tmp_path, in_process):
    row = evaluate(make_workspace([miniature.source(tmp_path / "f", i, 15) for i in range(3)]), in_process("Perfect"))
    assert (row.accuracy, row.failures, row.eao, row.realtime_eao, row.average_overlap) == (1, 0, 1, 1, 1)


def test_a_tracker_that_jumps_at_a_known_frame(make_workspace, two_sequences, in_process):
    """Overlap 1/2 everywhere; one failure, in frame 10 of the sequence of 30; started again in frame 15."""
    row = evaluate(make_workspace(two_sequences), in_process("HalfThenJump"))
    assert [(part.length, part.failures) for part in row.sequences] == [(30, 1), (8, 0)]
    assert row.failures == 1 / 2
    assert row.robustness == pytest.approx(30 / 38)  # the toolkit weights by length
    assert row.reliability == pytest.approx(math.exp(-100 * (1 / 2) / 19))  # mean length (30 + 8) / 2
    assert row.minus_log_reliability == pytest.approx(50 / 19)
    assert row.sequences[0].accuracy == pytest.approx(1 / 2)  # of frames 25 to 29, after the second burn-in
    # Runs: frames 0-9, failed (then zeros forever); 15-29 and the 8 frames, ended well (then no longer counted).
    curve = []
    for length in range(1, 15):
        failed = (1 / 2) * min(1, 9 / length)
        runs = [failed, 1 / 2] + ([1 / 2] if length < 8 else [])
        curve.append(sum(runs) / len(runs))
    assert row.eao_curve[1:] == pytest.approx(curve, abs=1e-6)
    by_hand = (5 * 1.0 + 0.95 + (9 / 11 + 1) / 2 + 0.875) / 8 / 2  # lengths 5 to 9, 10, 11, 12
    assert row.eao == pytest.approx(by_hand, abs=1e-6)


def test_the_toolkits_report_agrees(make_workspace, two_sequences, in_process):
    """The same numbers from the toolkit's own processing of the stack."""
    from vot.analysis import AnalysisProcessor, process_stack_analyses

    folder = make_workspace(two_sequences)
    tracker = in_process("HalfThenJump")
    row = evaluate(folder, tracker)
    with AnalysisProcessor():
        results = process_stack_analyses(open_workspace(folder), [tracker])
    by_name = {experiment.identifier: list(analyses.values()) for experiment, analyses in results.items()}
    (accuracy, robustness, _, _), (eao,), (curve,) = (grid[0, 0] for grid in by_name["baseline"])
    assert (row.accuracy, row.robustness, row.eao) == (accuracy, robustness, eao)
    assert row.eao_curve == [float(value) for value in curve]
    assert row.realtime_eao == by_name["realtime"][1][0, 0][0]
    assert row.average_overlap == by_name["unsupervised"][0][0, 0][0]


def test_a_slow_tracker_in_real_time(make_workspace, tmp_path, in_process):
    """Sequence 1 moves 3 pixels per frame; the tracker is right but needs 2.5 frame times per image."""
    clock = itertools.accumulate(itertools.cycle([2.5, 0.0]), initial=0.0)  # each call lasts 2.5 s of a 1 s interval
    folder = make_workspace([miniature.source(tmp_path / "f", 1, 14)], grace=3)
    tracker = in_process("Perfect", clock=lambda: next(clock))
    evaluate(folder, tracker, ["realtime"])
    workspace = open_workspace(folder)
    (trajectory,) = workspace.stack["realtime"].gather(tracker, workspace.dataset["seq1"])
    # Grace forgives the initialisation and two frames; from then on each answer holds for the frames it was late.
    shown = [int(region.x) for region in trajectory.regions()[1:]]
    truth = [int(miniature.truth(1, frame)[0]) for frame in range(14)]
    assert shown[:3] == truth[1:4]
    assert shown[3:] == [truth[frame] for frame in (3, 5, 5, 7, 7, 9, 9, 11, 11, 13)]


def test_reliability():
    assert reliability(failures=0, length=100) == 1
    assert reliability(failures=1, length=100) == pytest.approx(math.exp(-1))


@pytest.mark.parametrize(("total_failures", "printed"), [(59, 0.276), (50, 0.234), (72, 0.337), (60, 0.281)])
def test_reliability_as_the_paper_prints_it(total_failures, printed):
    """VOT2017 and VOT2018 have 60 sequences and 21356 frames. Deterministic trackers fail a whole number of times, and
    this many make the -ln R_S that the paper prints for ECO, SiamRPN++, DaSiamRPN and SiamMask: failures are not
    weighted by length."""
    assert round(-math.log(reliability(total_failures / 60, 21356 / 60)), 3) == printed


def test_missing_results_leave_gaps_and_notes(make_workspace, two_sequences, in_process):
    from pytracking.vot_integration.trackers import TrackerSpec

    folder = make_workspace(two_sequences, trackers=[TrackerSpec("identity", "default")])
    (row,) = make_report(folder).rows
    assert row.eao is None and row.accuracy is None
    assert row.notes == [f"{name}: no results" for name in ("baseline", "realtime", "unsupervised")]
    workspace = open_workspace(folder)
    tracker = in_process("Perfect")
    workspace.stack["baseline"].execute(tracker, workspace.stack["baseline"].transform(workspace.dataset["seq0"])[0])
    row = tracker_row(workspace, tracker)
    assert row.accuracy is None
    assert row.notes[0].startswith("baseline: only 1 of 2 sequences (without seq1) (not scored; ")
    row = tracker_row(workspace, tracker, partial=True)
    assert row.accuracy == 1 and [part.sequence for part in row.sequences] == ["seq0"]
    assert row.notes[0] == "baseline: only 1 of 2 sequences (without seq1) (scored as they are)"


def test_fewer_repetitions_than_the_stack_asks_for(make_workspace, two_sequences, in_process, capsys):
    """Public raw results have one repetition, the stack asks for 15."""
    folder = make_workspace(two_sequences, repetitions=1)
    tracker = in_process("HalfThenJump")
    whole = evaluate(folder, tracker)
    miniature.register(folder, "HalfThenJump")
    stack = folder / "stack.yaml"
    stack.write_text(stack.read_text().replace("repetitions: 1\n", "repetitions: 15\n", 1))
    (row,) = make_report(folder, ["HalfThenJump"]).rows
    assert row.eao is None
    assert row.notes[0].startswith("baseline: only 1 of 15 repetitions of 2 sequences (not scored; ")
    assert (row.realtime_eao, row.average_overlap) == (whole.realtime_eao, whole.average_overlap)
    (row,) = make_report(folder, ["HalfThenJump"], partial=True).rows
    for name in ("eao", "accuracy", "robustness", "reliability", "realtime_eao", "average_overlap", "eao_curve"):
        assert getattr(row, name) == getattr(whole, name), name
    assert main(["vot", "report", str(folder)]) == 0
    assert "HalfThenJump: baseline: only 1 of 15 repetitions of 2 sequences" in capsys.readouterr().out
    for form in ("text", "markdown", "latex", "csv"):
        assert main(["vot", "report", str(folder), "--partial", "--format", form]) == 0
        printed = capsys.readouterr().out
        assert "(scored as they are)" in printed and f"{whole.eao:.3f}"[:4] in printed


def test_eao_of_short_sequences_says_why_it_is_missing(make_workspace, two_sequences, in_process):
    row = evaluate(make_workspace(two_sequences, eao_interval=(100, 356)), in_process("Perfect"), ["baseline"])
    assert row.eao is None
    assert "lengths 100 to 356, but no run is longer than 30" in row.notes[0]
