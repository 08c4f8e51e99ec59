"""The second, wider look: when it is taken, what it changes, and that a target which jumped is found by it."""
from __future__ import annotations

import numpy as np
import pytest

from ltr.models.tracking.dimpnet import DiMPNet
from pytracking.evaluation import get_dataset
from pytracking.evaluation.tracker import Tracker
from pytracking.tracker.dimp.dimp import DimpTracker
from pytracking.tracker.dimp.params import DimpParams
from tests.dimp.test_tracker import ALWAYS_FOUND, SMALL, run


class Seen(DimpTracker):
    """Notes the sides of the patches it looks at, and sees a constant score in each."""

    def __init__(self, *args, near: float, wide: float, **options) -> None:
        super().__init__(*args, **options)
        self.near, self.wide, self.sides = near, wide, []

    def cut_patch(self, image, size=None):
        patch, frame = super().cut_patch(image, size)
        self.sides.append(int(frame.size[0]))
        return patch, frame

    def score_map(self, features):
        near = features.shape[-1] == 6 and self.usual_peak.value is not None
        seen = self.near if near else 1.0 if self.usual_peak.value is None else self.wide
        scores = super().score_map(features) * 0
        scores[2, 3] = seen
        return scores


@pytest.fixture
def looking(network: DiMPNet, frames: list[np.ndarray]):
    """Outputs and patch sides of three tracked frames, the first of which sets the usual peak to 1."""

    def track(near: float, wide: float, **params) -> tuple[list[dict], list[int], DimpTracker]:
        wanted = SMALL | ALWAYS_FOUND | {"uncertain_part": 0.5, "wide_sample_size": 160} | params
        tracker = Seen(DimpParams(**wanted), network, near=near, wide=wide)
        return run(tracker, frames[:4]), tracker.sides, tracker

    return track


def test_a_good_sight_needs_no_second_look(looking) -> None:
    outputs, sides, _ = looking(near=0.8, wide=1.0)
    assert sides == [96, 96, 96] and {output["flag"] for output in outputs} == {"normal"}


def test_where_little_is_seen_a_better_wide_sight_is_taken_but_not_learnt_from(looking) -> None:
    outputs, sides, tracker = looking(near=0.3, wide=0.9)
    assert sides == [96, 96, 160, 96, 160]
    assert [output["flag"] for output in outputs] == ["normal", "uncertain", "uncertain"]
    assert outputs[1]["score"] == pytest.approx(0.9)
    assert tracker.memory.num_stored == 16, "the first frame's 15 samples and the one certain frame"


def test_a_wide_sight_that_shows_little_too_changes_nothing(looking) -> None:
    with_it, sides, _ = looking(near=0.3, wide=0.4)
    without, _, _ = looking(near=0.3, wide=0.4, wide_sample_size=None)
    assert sides == [96, 96, 160, 96, 160]
    assert [each["target_bbox"] for each in with_it] == [each["target_bbox"] for each in without]
    assert [each["score"] for each in with_it] == [each["score"] for each in without]


@pytest.mark.parametrize("change", [{"wide_sample_size": 96}, {"wide_sample_size": None}, {"window_output": True}])
def test_there_is_no_second_look(looking, change: dict) -> None:
    assert set(looking(near=0.3, wide=0.9, **change)[1]) == {96}


def test_the_wide_side_is_rounded_up_to_pairs_of_cells(looking) -> None:
    assert set(looking(near=0.3, wide=0.9, wide_sample_size=130)[1]) == {96, 160}


def test_a_target_that_jumped_out_of_the_patch_is_found_again() -> None:
    sequence = get_dataset("demo")["bird"]
    x, y, w, h = sequence.ground_truth_rect[0]
    frame = sequence.load_frame(0)
    step = int(1.9 * np.sqrt(w * h))  # outside the near patch, inside the wide one
    moved = np.roll(frame, step if x + w + step < frame.shape[1] else -step, axis=1)
    expected = x + (step if x + w + step < frame.shape[1] else -step) + w / 2
    found = {}
    for side in (None, 288):
        sizes = {"image_sample_size": 160, "search_area_scale": 2.8125, "wide_sample_size": side}
        tracker = Tracker("rls_dimp", "default", network="dimp_mobile").create_tracker(sizes)
        tracker.initialize(frame, {"init_bbox": [x, y, w, h]})
        for _ in range(3):
            tracker.track(frame)
        outputs = [tracker.track(moved) for _ in range(3)]
        found[side] = outputs[-1]["target_bbox"][0] + outputs[-1]["target_bbox"][2] / 2
    assert abs(found[288] - expected) < w / 4
    assert abs(found[None] - expected) > w, "else the near patch was wide enough"
