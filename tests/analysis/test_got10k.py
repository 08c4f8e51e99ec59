"""got10k's own evaluator, run live beside ours on synthetic data."""
from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pytracking.analysis import score_sequence, summarise

pytest.importorskip("got10k", reason="pip install got10k six")
from got10k.experiments import ExperimentGOT10k, ExperimentOTB  # noqa: E402

RESOLUTION = (320, 240)


def synthetic(seed: int, frames: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ground truth that leaves the image now and then, a prediction that drifts, and how much can be seen."""
    rng = np.random.default_rng(seed)
    walk = np.cumsum(rng.normal(0, 6, (frames, 4)) * [1, 1, 0.2, 0.2], axis=0)
    truth = np.array([100.0, 90, 60, 40]) + walk
    truth[:, 2:] = np.maximum(truth[:, 2:], 8)
    prediction = truth + np.cumsum(rng.normal(0, 2.5, (frames, 4)) * [1, 1, 0.3, 0.3], axis=0)
    prediction[:, 2:] = np.maximum(prediction[:, 2:], 1)
    return np.round(truth, 3), np.round(prediction, 3), rng.integers(0, 9, frames)


def test_got10k_average_overlap_and_success_rate(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    names, scores = [], []
    for index, frames in enumerate((40, 95, 17)):
        truth, prediction, cover = synthetic(index, frames)
        name = f"GOT-10k_Val_{index + 1:06d}"
        names.append(name)
        folder = tmp_path / "data" / "val" / name
        folder.mkdir(parents=True)
        for frame in range(frames):
            (folder / f"{frame + 1:08d}.jpg").touch()
        np.savetxt(folder / "groundtruth.txt", truth, "%.3f", ",")
        np.savetxt(folder / "cover.label", cover, "%d")
        for label in ("absence", "cut_by_image"):
            np.savetxt(folder / f"{label}.label", np.zeros(frames), "%d")
        (folder / "meta_info.ini").write_text(f"[METAINFO]\nresolution: {RESOLUTION}\n")
        results = tmp_path / "results" / "GOT-10k" / "ours" / name
        results.mkdir(parents=True)
        np.savetxt(results / f"{name}_001.txt", prediction, "%.3f", ",")
        np.savetxt(results / f"{name}_time.txt", np.full(frames, 0.1), "%.8f")
        scores.append(score_sequence(prediction, truth, "got10k", cover=cover, image_size=RESOLUTION))
    (tmp_path / "data" / "val" / "list.txt").write_text("\n".join(names))

    experiment = ExperimentGOT10k(
        str(tmp_path / "data"), subset="val", result_dir=str(tmp_path / "results"), report_dir=str(tmp_path / "reports")
    )
    experiment.plot_curves = lambda *_: None
    theirs = experiment.report(["ours"])["ours"]
    ours = summarise(scores, "got10k")
    assert float(ours.average_overlap) == pytest.approx(theirs["overall"]["ao"], abs=1e-12)
    assert float(ours.op50) == pytest.approx(theirs["overall"]["sr"], abs=1e-12)
    np.testing.assert_allclose(ours.success_curve, theirs["overall"]["succ_curve"], rtol=0, atol=1e-12)
    assert float(ours.op75) == pytest.approx(theirs["overall"]["succ_curve"][75], abs=1e-12)
    for name, score in zip(names, scores, strict=True):
        assert float(score.average_overlap) == pytest.approx(theirs["seq_wise"][name]["ao"], abs=1e-12)


@pytest.mark.parametrize("rule", ["otb", "pytracking"])
def test_got10k_otb_curves(rule: str) -> None:
    """Where every true box is valid, the rules of OTB's family agree with got10k's OTB experiment."""
    experiment = ExperimentOTB.__new__(ExperimentOTB)  # its constructor downloads the dataset
    experiment.nbins_iou, experiment.nbins_ce = 21, 51
    scores, success, precision = [], [], []
    for seed in range(5):
        truth, prediction, _ = synthetic(seed, 60)
        truth[:, :2] = np.maximum(truth[:, :2], 1)
        scores.append(score_sequence(prediction, truth, rule))
        boxes = prediction.copy()
        boxes[0] = truth[0]
        curves = experiment._calc_curves(*experiment._calc_metrics(boxes, truth.copy()))
        success.append(curves[0])
        precision.append(curves[1])
    ours = summarise(scores, rule)
    # the overlap of the first frame is 1 give or take 2e-16, and got10k clips it to 1: the last threshold is moot
    np.testing.assert_allclose(ours.success_curve[:-1], np.mean(success, axis=0)[:-1], rtol=0, atol=1e-12)
    np.testing.assert_allclose(ours.precision_curve, np.mean(precision, axis=0), rtol=0, atol=1e-12)
