"""What each evaluator rule does with the frames where evaluators disagree, by hand."""
from __future__ import annotations

import numpy as np
import pytest

from pytracking.analysis import RULES, frame_errors, get_rule, score_sequence, summarise

N = 20
ALL_RULES = sorted(RULES)


def moving_target(step: float = 3.0) -> np.ndarray:
    """A target of 30 x 20 that moves to the right."""
    boxes = np.tile([10.0, 12.0, 30.0, 20.0], (N, 1))
    boxes[:, 0] += step * np.arange(N)
    return boxes


@pytest.mark.parametrize("rule", ALL_RULES)
def test_a_perfect_prediction(rule: str) -> None:
    truth = moving_target()
    summary = summarise([score_sequence(truth.copy(), truth, rule)], rule)
    # with `>` nothing exceeds the last of the thresholds, so that the mean over the grid cannot reach 1
    expected = {"strict": 1.0, "trackingnet": 1.0, "got10k": 100 / 101}.get(rule, 20 / 21)
    assert float(summary.auc) == pytest.approx(expected, abs=1e-15)
    for value in (summary.op50, summary.op75, summary.precision, summary.normalised_precision, summary.average_overlap):
        assert float(value) == 1.0


@pytest.mark.parametrize("rule", ALL_RULES)
def test_a_tracker_that_stands_still(rule: str) -> None:
    """Overlap of a box of width 30 moved by 3 i: (30 - 3 i) / (30 + 3 i); centre error 3 i."""
    truth = moving_target()
    static = np.tile(truth[0], (N, 1))
    frames = np.arange(1 if rule == "got10k" else 0, N)
    overlap = np.maximum(30.0 - 3 * frames, 0) / (30.0 + 3 * frames)
    summary = summarise([score_sequence(static, truth, rule)], rule)
    assert float(summary.average_overlap) == pytest.approx(overlap.mean(), abs=1e-12)
    assert float(summary.op50) == pytest.approx((overlap > 0.5).mean(), abs=1e-12)
    if rule == "trackingnet":
        grid = np.linspace(0, 50, 21)
        curve = (3.0 * frames[:, None] <= grid).mean(axis=0)
        assert float(summary.precision) == pytest.approx(np.trapezoid(curve, grid) / 50, abs=1e-12)
    else:
        assert float(summary.precision) == pytest.approx((3 * frames <= 20).mean(), abs=1e-12)
        assert float(summary.normalised_precision) == pytest.approx((3 * frames / 30 <= 0.2).mean(), abs=1e-12)


def test_a_target_at_the_image_border_is_valid_for_strict_alone() -> None:
    truth = moving_target()
    truth[5:10, 0] = 0.0
    assert frame_errors(truth.copy(), truth, "strict").valid.all()
    assert frame_errors(truth.copy(), truth, "pytracking").valid.sum() == N - 5
    assert float(score_sequence(truth.copy(), truth, "strict").success[10]) == 1.0
    assert float(score_sequence(truth.copy(), truth, "pytracking").success[10]) == (N - 5) / N


def test_invalid_frames_as_hits_and_more_than_a_hundred_percent() -> None:
    truth = moving_target()
    truth[4:8] = np.nan
    far = truth + np.array([500.0, 0, 0, 0])
    far[4:8] = [1, 1, 5, 5]
    far[0] = truth[0]
    compatible = get_rule("pytracking")
    scores = {rule: score_sequence(far, truth, rule) for rule in (compatible, compatible.for_dataset("uav"), "strict")}
    plain, uav, strict = scores.values()
    assert float(plain.normalised_precision[20]) == 5 / N and float(plain.precision[20]) == 1 / N
    assert float(uav.precision[20]) == 5 / N
    assert float(strict.normalised_precision[20]) == float(strict.precision[20]) == 1 / (N - 4)
    perfect = np.where(np.isnan(truth), 1.0, truth)
    excluded = get_rule("pytracking", exclude_invalid=True).for_dataset("uav")
    assert float(score_sequence(perfect, truth, excluded).precision[20]) == N / (N - 4) > 1
    assert float(score_sequence(perfect, truth, "strict").precision[20]) == 1.0


def test_invisible_frames_of_lasot() -> None:
    truth = moving_target()
    visible = np.ones(N, bool)
    visible[10:] = False
    pytracking = score_sequence(truth.copy(), truth, get_rule("pytracking").for_dataset("lasot"), visible=visible)
    toolkit = score_sequence(truth.copy(), truth, "lasot", visible=visible)
    strict = score_sequence(truth.copy(), truth, "strict", visible=visible)
    for scores in (pytracking, toolkit):
        assert float(scores.precision[20]) == float(scores.normalised_precision[20]) == 0.5
        assert scores.frames == N
    assert strict.frames == 10 and float(strict.precision[20]) == 1.0


def test_lasot_leaves_out_sequences_that_were_lost() -> None:
    truth = moving_target()
    truth[0] = np.nan  # no assured hit in the first frame
    truth = np.where(np.isnan(truth), 0.0, truth)
    lost = np.tile([900.0, 900, 5, 5], (N, 1))
    good, bad = score_sequence(truth + [0, 0, 0.001, 0], truth, "lasot"), score_sequence(lost, truth, "lasot")
    assert not bad.success.any()
    assert float(summarise([good, bad], "lasot").auc) == float(summarise([good], "lasot").auc)
    assert float(summarise([good, bad], "otb").auc) == pytest.approx(float(summarise([good], "otb").auc) / 2)
    assert float(summarise([bad], "lasot").auc) == 0.0


def test_empty_boxes_are_repeated_where_the_evaluator_does() -> None:
    truth = moving_target(0.0)
    boxes = truth.copy()
    boxes[3:6, 2:] = 0
    assert float(frame_errors(boxes, truth, "pytracking").overlap.min()) == pytest.approx(1.0)
    assert frame_errors(boxes, truth, "strict").overlap[3:6].tolist() == [0, 0, 0]


def test_length_rules() -> None:
    truth = moving_target()
    assert frame_errors(truth[:15].copy(), truth, "pytracking").overlap[15:].tolist() == [0] * 5
    assert len(frame_errors(np.tile(truth, (2, 1)), truth, "pytracking").overlap) == N
    for rule in ("strict", "got10k", "otb", "trackingnet", "lasot", get_rule("pytracking").for_dataset("lasot")):
        with pytest.raises(ValueError, match="15 boxes for 20 frames"):
            frame_errors(truth[:15], truth, rule)


@pytest.mark.parametrize("rule", ["pytracking", "strict", "got10k", "trackingnet"])
def test_nan_and_negative_predictions_raise(rule: str) -> None:
    truth = moving_target()
    for value, word in ((np.nan, "NaN"), (-4.0, "negative size")):
        boxes = truth.copy()
        boxes[7, 2] = value
        with pytest.raises(ValueError, match=f"{word} in frame 8"):
            frame_errors(boxes, truth, rule)


def test_got10k_counts_frames_not_sequences() -> None:
    long, short = moving_target(), moving_target()[:5]
    scores = [score_sequence(long.copy(), long, "got10k"), score_sequence(short + [900.0, 0, 0, 0], short, "got10k")]
    assert float(summarise(scores, "got10k").average_overlap) == pytest.approx(19 / 23)
    covered = score_sequence(long.copy(), long, "got10k", cover=[0] * 10 + [8] * 10, image_size=(640, 480))
    assert covered.frames == 10


def test_unknown_rule_lists_the_rules() -> None:
    with pytest.raises(ValueError, match="no evaluator rule 'matlab'; there are: pytracking, strict"):
        get_rule("matlab")


def test_trackingnet_and_got10k_look_at_no_visibility_flags() -> None:
    truth, visible = moving_target(), np.arange(N) < 10
    truth[15] = [0, 0, 0, 0]
    for rule, frames in (("trackingnet", N), ("got10k", N - 1)):
        errors = frame_errors(truth.copy(), truth, rule, visible=visible)
        assert errors.valid.all() and errors.valid.size == frames
        assert float(errors.overlap.min()) == 0.0 and float((errors.overlap == 1).sum()) == frames - 1
