"""The oracle scores exactly 1, and a tracker that stands still its hand-computed value, on every kind of dataset."""
from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pytracking.analysis.evaluate import evaluate
from pytracking.analysis.presence import presence_table
from pytracking.analysis.result_sets import ResultSet, Run
from pytracking.evaluation.results import write_boxes
from pytracking.evaluation.sequence import Sequence

FRAMES, WIDTH, STEP = 25, 40.0, 2.0
HIDDEN = slice(10, 15)  # frames without a target, where the dataset knows such


def moving_boxes() -> np.ndarray:
    boxes = np.tile([100.0, 80, WIDTH, 30], (FRAMES, 1))
    boxes[:, 0] += STEP * np.arange(FRAMES)
    return boxes


def make_sequence(dataset: str) -> Sequence:
    """A sequence with the peculiarities that the loader of a dataset hands out."""
    boxes, facts, visible = moving_boxes(), {}, None
    if dataset in ("uav", "tlp"):
        boxes[HIDDEN] = np.nan  # absent targets have no box
    elif dataset == "lasot":
        visible = np.ones(FRAMES, bool)
        visible[HIDDEN] = False  # flags; the box is there but meaningless
        boxes[HIDDEN] = [900, 900, 5, 5]
    elif dataset == "got10k":
        facts = {"cover": np.where(np.arange(FRAMES) // 5 == 2, 0, 8), "image_size": (640.0, 480.0)}
        boxes[HIDDEN] = [900, 900, 5, 5]
    elif dataset == "vot18":
        facts = {"polygons": np.tile(np.arange(8.0), (FRAMES, 1))}
    frames = [f"{dataset}/{n}.jpg" for n in range(FRAMES)]
    return Sequence(f"{dataset}_1", frames, dataset, boxes, target_visible=visible, attributes=facts)


def results_of(folder: Path, sequence: Sequence, boxes: np.ndarray) -> ResultSet:
    write_boxes(folder / f"{sequence.name}.txt", boxes)
    return ResultSet(folder.name, (Run(folder),))


DATASETS = ["otb", "uav", "uav123_10fps", "dtb70", "nfs", "tpl", "tlp", "lasot", "got10k", "vot18", "demo"]


@pytest.mark.parametrize("dataset", DATASETS)
def test_oracle_and_static(dataset: str, tmp_path: Path) -> None:
    sequence = make_sequence(dataset)
    known = np.where(np.isnan(sequence.ground_truth_rect), 1.0, sequence.ground_truth_rect)
    oracle = results_of(tmp_path / "oracle", sequence, known)
    static = results_of(tmp_path / "static", sequence, np.tile(known[0], (FRAMES, 1)))
    rule = "got10k" if dataset == "got10k" else "strict"
    evaluation = evaluate([oracle, static], [sequence], rule, progress=False, workers=1)
    best, still = (evaluation.summary(tracker) for tracker in evaluation.trackers)
    for value in (best.average_overlap, best.op50, best.op75, best.precision, best.normalised_precision):
        assert float(value[0]) == 1.0
    if rule == "strict":
        assert float(best.auc[0]) == 1.0

    counted = np.ones(FRAMES, bool)
    counted[HIDDEN] = dataset not in ("uav", "tlp", "lasot", "got10k")
    counted[0] = rule != "got10k"
    moved = STEP * np.arange(FRAMES)[counted]
    overlap = np.maximum(WIDTH - moved, 0) / (WIDTH + moved)
    assert float(still.average_overlap[0]) == pytest.approx(overlap.mean(), abs=1e-12)
    assert float(still.op50[0]) == pytest.approx((overlap > 0.5).mean(), abs=1e-12)
    assert float(still.precision[0]) == pytest.approx((moved <= 20).mean(), abs=1e-12)
    assert float(still.normalised_precision[0]) == pytest.approx((moved / WIDTH <= 0.2).mean(), abs=1e-12)


def test_trackingnet_with_its_own_rule(tmp_path: Path) -> None:
    sequence = make_sequence("trackingnet")
    oracle = results_of(tmp_path / "oracle", sequence, sequence.ground_truth_rect)
    evaluation = evaluate([oracle], [sequence], "trackingnet", progress=False, workers=1)
    summary = evaluation.summary(evaluation.trackers[0])
    assert float(summary.auc[0]) == float(summary.precision[0]) == float(summary.normalised_precision[0]) == 1.0


def test_oxuva(tmp_path: Path) -> None:
    boxes = np.full((91, 4), np.nan)
    boxes[[0, 30, 90]] = [[10, 10, 40, 30], [12, 10, 40, 30], [200, 10, 40, 30]]
    facts = {
        "label_frames": np.array([0, 30, 60, 90]),
        "label_present": np.array([True, True, False, True]),
        "image_size": (320.0, 240.0),
    }
    sequence = Sequence("vid0_obj0", [f"{n}.jpeg" for n in range(91)], "oxuva", boxes, attributes=facts)
    known = np.where(np.isnan(boxes), 1.0, boxes)
    oracle = results_of(tmp_path / "oracle", sequence, known)
    static = results_of(tmp_path / "static", sequence, np.tile(boxes[0], (91, 1)))
    scores = np.ones(91)
    scores[60] = 0.1
    (tmp_path / "oracle" / "vid0_obj0_object_presence_scores.txt").write_text("\n".join(map(str, scores)))
    (row,) = presence_table([oracle], [sequence], threshold=0.5).rows
    assert [number.value for number in row[2:]] == [1.0, 1.0, 1.0, 1.0]
    (row,) = presence_table([static], [sequence]).rows
    tpr, tnr, gm, max_gm = (number.value for number in row[2:])
    assert (tpr, tnr, gm) == (0.5, 0.0, 0.0) and max_gm == pytest.approx(np.sqrt(0.5) / 2)
