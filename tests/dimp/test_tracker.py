"""Whole trackers on a tiny network: outputs, seeds, schedules, recommendations, debug views."""
from __future__ import annotations

import importlib.util
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from ltr.models.tracking.dimpnet import DiMPNet
from ltr.weights import find_weights
from pytracking.evaluation.networks import FallbackWeightsWarning, MissingWeightsError
from pytracking.evaluation.tracker import Tracker
from pytracking.tracker.dimp.dimp import DimpTracker
from pytracking.tracker.dimp.params import DimpParams
from pytracking.tracker.rls_dimp.params import RLSDimpParams
from pytracking.tracker.rls_dimp.rls_dimp import RLSDimpTracker

SMALL = {"device": "cpu", "image_sample_size": 96, "sample_memory_size": 20, "net_opt_iter": 2, "train_skipping": 3}
ALWAYS_FOUND = {"target_not_found_threshold": -1e9, "distractor_threshold": 1e9, "hard_negative_threshold": 1e9}
NEVER_FOUND = {"target_not_found_threshold": 1e9}
HARD_NEGATIVE = {"target_not_found_threshold": -1e9, "hard_sample_threshold": 1e9}
UNCERTAIN = {"target_not_found_threshold": -1e9, "uncertain_threshold": 1e9}
INIT_BOX = [40, 30, 24, 20]


def run(tracker: DimpTracker, frames: list[np.ndarray], seed: int | None = None) -> list[dict]:
    info = {"init_bbox": INIT_BOX} | ({} if seed is None else {"seed": seed})
    tracker.initialize(frames[0], info)
    return [tracker.track(frame) for frame in frames[1:]]


def boxes(outputs: list[dict]) -> np.ndarray:
    return np.array([output["target_bbox"] for output in outputs])


@pytest.mark.parametrize("kind", ["dimp", "rls_dimp", "block"])
def test_the_same_seed_gives_the_same_boxes(network: DiMPNet, frames: list[np.ndarray], kind: str) -> None:
    def make() -> DimpTracker:
        if kind == "dimp":
            return DimpTracker(DimpParams(**SMALL, **ALWAYS_FOUND), network)
        block = {"block_input": "block", "block_rows": 4} if kind == "block" else {}
        return RLSDimpTracker(RLSDimpParams(**SMALL, **ALWAYS_FOUND, **block), network)

    tracker = make()
    state = torch.random.get_rng_state()
    first = boxes(run(tracker, frames, seed=7))
    assert torch.equal(torch.random.get_rng_state(), state), "the tracker drew from torch's global generator"
    np.testing.assert_array_equal(boxes(run(tracker, frames, seed=7)), first)
    np.testing.assert_array_equal(boxes(run(make(), frames, seed=7)), first)
    assert not np.array_equal(boxes(run(tracker, frames, seed=8)), first)


def test_without_a_seed_it_is_zero(network: DiMPNet, frames: list[np.ndarray]) -> None:
    tracker = DimpTracker(DimpParams(**SMALL, **ALWAYS_FOUND), network)
    np.testing.assert_array_equal(boxes(run(tracker, frames)), boxes(run(tracker, frames, seed=0)))


def test_output_has_box_score_flag_and_learner(network: DiMPNet, frames: list[np.ndarray]) -> None:
    tracker = RLSDimpTracker(RLSDimpParams(**SMALL, **ALWAYS_FOUND, output_score_map=True), network)
    outputs = run(tracker, frames)
    for output in outputs:
        assert np.isfinite(output["target_bbox"]).all() and len(output["target_bbox"]) == 4
        assert output["flag"] == "normal"
        assert output["score"] == pytest.approx(float(output["score_map"].max()))
        assert output["score_map"].shape == (7, 7)
    learner = outputs[-1]["learner"]
    assert learner["rank"] == sum(output["learner"]["updated"] for output in outputs) == 3  # frames 4, 7 and 10
    assert learner["nbytes"] > 0 and learner["loss"] > 0


def test_presence_is_relative_to_the_frame(network: DiMPNet, frames: list[np.ndarray]) -> None:
    output = run(DimpTracker(DimpParams(**SMALL, **ALWAYS_FOUND, output_presence=True), network), frames[:2])[0]
    x, y, w, h = output["target_bbox"]
    height, width = frames[0].shape[:2]
    assert output["present"] is True
    assert output["xmin"] * width == pytest.approx(x) and output["xmax"] * width == pytest.approx(x + w)
    assert output["ymin"] * height == pytest.approx(y) and output["ymax"] * height == pytest.approx(y + h)
    lost = run(DimpTracker(DimpParams(**SMALL, **NEVER_FOUND, output_presence=True), network), frames[:2])[0]
    assert lost["present"] is False


@pytest.mark.parametrize(
    ("thresholds", "flag", "paper", "released"),
    [
        (ALWAYS_FOUND, "normal", [0, 0, 5, 0, 0, 5], [0, 0, 5, 0, 0, 5]),
        (HARD_NEGATIVE, "hard_negative", [1] * 6, [1] * 6),
        (UNCERTAIN, "uncertain", [0, 0, 5, 0, 0, 5], [0] * 6),
        (NEVER_FOUND, "not_found", [0, 0, 5, 0, 0, 5], [0] * 6),
    ],
)
def test_update_schedule(network, frames, thresholds: dict, flag: str, paper: list[int], released: list[int]) -> None:
    for update_when_lost, expected in ((True, paper), (False, released)):
        params = RLSDimpParams(**SMALL, **thresholds, update_when_lost=update_when_lost)
        tracker = RLSDimpTracker(params, network)
        outputs = run(tracker, frames[:7])
        assert [output["flag"] for output in outputs] == [flag] * 6
        assert [output["learner"]["num_iter"] for output in outputs] == expected
        stored = 15 + (6 if flag in ("normal", "hard_negative") else 0)  # only trusted frames become samples
        assert tracker.memory.num_stored == min(stored, SMALL["sample_memory_size"])


@pytest.mark.parametrize(
    ("thresholds", "learnt", "stored"),
    [(UNCERTAIN, [5, 5, 5, 0, 0, 5], 3), (NEVER_FOUND, [0, 0, 5, 0, 0, 5], 0)],
)
def test_early_frames_are_learnt_at_once(network, frames, thresholds: dict, learnt: list[int], stored: int) -> None:
    tracker = RLSDimpTracker(RLSDimpParams(**SMALL, **thresholds, early_frames=4), network)
    assert [output["learner"]["num_iter"] for output in run(tracker, frames[:7])] == learnt
    assert tracker.memory.num_stored == 15 + stored


def test_a_lost_target_stays_where_it_was(network: DiMPNet, frames: list[np.ndarray]) -> None:
    outputs = run(DimpTracker(DimpParams(**SMALL, **NEVER_FOUND), network), frames[:4])
    np.testing.assert_allclose(boxes(outputs), [INIT_BOX] * 3)


def test_learners_differ_only_once_they_have_learnt(network: DiMPNet, frames: list[np.ndarray]) -> None:
    common = SMALL | ALWAYS_FOUND | {"net_opt_update_iter": 5, "step_length": 0.3}
    runs = {
        "sd": run(DimpTracker(DimpParams(**common), network), frames),
        "bgd": run(DimpTracker(DimpParams(**common, learner="gradient_descent"), network), frames),
        "ema": run(DimpTracker(DimpParams(**common, learner="gradient_descent", ema_alpha=0.5), network), frames),
        "rls": run(RLSDimpTracker(RLSDimpParams(**common), network), frames),
    }
    for outputs in runs.values():
        np.testing.assert_array_equal(boxes(outputs)[:3], boxes(runs["sd"])[:3])  # first update after frame 4
    scores = [[output["score"] for output in outputs[4:]] for outputs in runs.values()]
    assert len({tuple(values) for values in scores}) == len(runs)


def test_without_iou_net_the_size_stays(network: DiMPNet, frames: list[np.ndarray]) -> None:
    outputs = run(DimpTracker(DimpParams(**SMALL, **ALWAYS_FOUND, use_iou_net=False), network), frames)
    np.testing.assert_allclose(boxes(outputs)[:, 2:], [INIT_BOX[2:]] * len(outputs))


def test_a_tracker_uses_its_parameters_unchanged(network: DiMPNet) -> None:
    network.metadata = {"tracker": {"image_sample_size": 64}}  # applied by pytracking.evaluation, not by the tracker
    try:
        params = DimpParams(device="cpu")
        assert DimpTracker(params, network).params is params
        assert params.image_sample_size == 288
    finally:
        network.metadata = {}


def test_errors_name_the_parameter(network: DiMPNet) -> None:
    with pytest.raises(ValueError, match="network_file"):
        DimpTracker(DimpParams(device="cpu"))
    with pytest.raises(ValueError, match="learner"):
        DimpTracker(DimpParams(device="cpu", learner="newton"), network)
    with pytest.raises(ValueError, match="block_input"):
        RLSDimpTracker(RLSDimpParams(device="cpu", block_input="mean"), network)
    with pytest.raises(TypeError, match="serach_area_scale"):
        DimpParams(serach_area_scale=4)


@pytest.mark.skipif(importlib.util.find_spec("matplotlib") is None, reason="matplotlib is not installed")
def test_debug_views_are_written_as_files(network, frames, tmp_path: Path, monkeypatch, saved_figures) -> None:
    monkeypatch.setenv("MPLBACKEND", "Agg")
    params = RLSDimpParams(**SMALL, **ALWAYS_FOUND, debug=1, debug_dir=tmp_path / "views")
    run(RLSDimpTracker(params, network), frames[:5])
    assert [path.name for path in sorted((tmp_path / "views").iterdir())] == ["frame_00004.png"]
    outputs = run(RLSDimpTracker(replace(params, debug=2), network), frames[:3])
    assert {path.name for path in (tmp_path / "views").iterdir()} >= {"frame_00002.png", "frame_00003.png"}
    picture, score_map = saved_figures[-1].axes[:2]
    np.testing.assert_array_equal(picture.images[0].get_array(), frames[2])
    assert list(picture.patches[0].get_bbox().bounds) == pytest.approx(outputs[-1]["target_bbox"])
    assert picture.get_title() == f"frame 3: {outputs[-1]['flag']}, score {outputs[-1]['score']:.2f}"
    assert float(score_map.images[0].get_array().max()) == pytest.approx(outputs[-1]["score"])


def test_default_runs_on_the_bundled_network_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTRACKING_NETWORK_PATH", str(tmp_path))
    if find_weights("dimp_mobile", [tmp_path]) is None:
        pytest.skip("the bundled network dimp_mobile is not in this copy of the package")
    tracker = Tracker("rls_dimp", "default")
    with pytest.warns(FallbackWeightsWarning, match="dimp_mobile"):
        made = tracker.create_tracker({"device": "cpu"})
    assert tracker.results_dir.name == "default@dimp_mobile"
    recommended = made.network.metadata.get("tracker", {})
    assert {name: getattr(made.params, name) for name in recommended} == recommended
    assert recommended["search_area_scale"] != 5.0, "the next line needs a recommendation that differs from the default"
    assert tracker.create_tracker({"device": "cpu", "search_area_scale": 5.0}).params.search_area_scale == 5.0
    with pytest.raises(MissingWeightsError, match="dimp50.pth"):
        Tracker("rls_dimp", "default", strict_weights=True).create_tracker()
