"""The demo dataset: the same everywhere, with every challenge it promises."""
from __future__ import annotations

import hashlib

import numpy as np
import pytest

from pytracking.demo.fixed_point import SINE, path, wave
from pytracking.demo.scenarios import SCENARIOS, digested, reference_digests, render_frame, render_sequence
from pytracking.evaluation import Tracker
from pytracking.evaluation.datasets import demo
from pytracking.evaluation.datasets.folder import load as load_folder


def test_sines_are_rounded_correctly():
    exact = 16384 * np.sin(np.arange(1024) * 2 * np.pi / 1024)
    assert (np.abs(SINE - exact) <= 0.5 + 1e-9).all()


def test_path_goes_through_its_knots():
    knots = ((3, 10), (10, -40), (11, 500))
    assert [path(8 * frame, *knots) for frame in (0, 3, 10, 11, 99)] == [10, 10, -40, 500, 500]
    assert wave(0, 100, 20) == 0
    assert wave(8 * 5, 100, 20) == 100


@pytest.fixture(scope="module")
def drone(tmp_path_factory):
    return demo.load(tmp_path_factory.mktemp("demo"), "drone")[0]


def test_rendering_equals_the_reference_and_the_files(drone):
    scenario = next(s for s in SCENARIOS if s.name == "drone")
    digest = hashlib.sha256()
    for index, frame in enumerate(render_sequence(scenario)):
        digest.update(digested(frame))
        if index % 30 == 0:
            np.testing.assert_array_equal(drone.load_frame(index), frame.image)
            assert drone.ground_truth_rect[index].tolist() == list(frame.box)
    assert digest.hexdigest() == reference_digests()["drone"]


def test_folder_is_in_the_otb_layout_and_not_rendered_twice(drone, monkeypatch):
    folder = load_folder(demo.Path(drone.annotation_file).parent)[0]
    np.testing.assert_array_equal(folder.ground_truth_rect, drone.ground_truth_rect)
    monkeypatch.setattr(demo, "render_sequence", lambda scenario: pytest.fail("rendered again"))
    root = demo.Path(drone.annotation_file).parents[2]
    assert demo.load(root, "drone")[0].frames == drone.frames


def test_other_pixels_are_refused_and_leave_nothing(tmp_path, monkeypatch):
    def brighter(scenario):
        for frame in render_sequence(scenario):
            frame.image |= 1
            yield frame

    monkeypatch.setattr(demo, "render_sequence", brighter)
    with pytest.raises(demo.DemoRenderError, match="drone"):
        demo.load(tmp_path, "drone")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_unknown_sequence_gets_the_nearest():
    with pytest.raises(ValueError, match="Did you mean 'beetle'"):
        demo.load(variant="beatle")


def test_set_is_as_large_and_as_hard_as_promised():
    short = [s for s in SCENARIOS if 100 <= s.frames <= 300]
    assert len(short) >= 8
    assert max(s.frames for s in SCENARIOS) >= 1000
    challenges = {challenge for s in SCENARIOS for challenge in s.challenges}
    assert challenges >= {
        "scale change",
        "in-plane rotation",
        "illumination change",
        "motion blur",
        "partial occlusion",
        "full occlusion",
        "out of view",
        "look-alike distractors",
        "deformation",
        "appearance returns",
    }


def _visibility(name: str, frames: list[int]) -> list[int]:
    scenario = next(s for s in SCENARIOS if s.name == name)
    return [render_frame(scenario, frame).visible for frame in frames]


def test_targets_leave_and_return():
    assert _visibility("ball", [0, 85, 125, 165, 199]) == [100, 0, 100, 0, 100]
    hidden, back = _visibility("runner", [135, 239])
    assert hidden < 15 <= back
    assert _visibility("lantern_long", [0, 815, 860]) == [100, 0, 100]


def test_oracle_scores_exactly_one(drone):
    from pytracking.analysis.scores import score_sequence, summarise

    oracle = Tracker("oracle", "default").run_sequence(drone)
    scores = score_sequence(oracle.boxes, drone.ground_truth_rect, "strict", visible=drone.target_visible)
    assert float(summarise([scores], "strict").auc) == 1.0
