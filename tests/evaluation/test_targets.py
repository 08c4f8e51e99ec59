"""Several targets in one video: boxes as of single runs, one batch through the network, later starts and ends."""
from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch

import pytracking
from ltr.models.tracking.dimpnet import DiMPNet
from pytracking.evaluation import get_dataset
from pytracking.evaluation.handle import TrackerHandle
from pytracking.evaluation.targets import Stages, run_together
from pytracking.tracker.base import StagedTracker, TrackerParams

BOXES = {1: [20.0, 30, 60, 50], 2: [140.0, 60, 40, 70], 5: [90.0, 120, 50, 40], 9: [10.0, 10, 30, 30]}
FRAME = np.zeros((40, 60, 3), np.uint8)


@pytest.fixture(scope="module")
def frames():
    sequence = get_dataset("demo")["beetle"]
    return [sequence.load_frame(index) for index in range(8)]


@pytest.fixture(scope="module")
def tracker() -> TrackerHandle:
    return pytracking.load("rls_dimp", device="cpu", cpu_threads=2, image_sample_size=160)


def alone(tracker: TrackerHandle, frames: list[np.ndarray], box: list[float]) -> list[dict]:
    return [tracker.init(frames[0], box), *(tracker.update(frame) for frame in frames[1:])]


def test_four_targets_have_the_boxes_of_four_single_runs(tracker, frames):
    targets = tracker.several()
    together = [targets.init(frames[0], BOXES), *(targets.update(frame) for frame in frames[1:])]
    for object_id, box in BOXES.items():
        for found, expected in zip(together, alone(tracker, frames, box), strict=True):
            assert found[object_id]["target_bbox"] == expected["target_bbox"]
            assert found[object_id].get("score") == expected.get("score")


def test_their_patches_go_through_the_network_as_one_batch(tracker, frames, monkeypatch):
    targets = tracker.several()
    targets.init(frames[0], BOXES)
    batches, run = [], DiMPNet.backbone_features
    monkeypatch.setattr(DiMPNet, "backbone_features", lambda net, x: batches.append(len(x)) or run(net, x))
    targets.update(frames[1])
    assert batches == [4]


def test_each_target_computes_with_one_thread_beside_the_others(tracker, frames, monkeypatch):
    pytest.importorskip("onnxruntime", reason="the extra 'engine' is not installed")
    targets = tracker.several()
    targets.init(frames[0], {1: BOXES[1], 2: BOXES[2]})
    from ltr.engine.runtime import WayChoice

    asked, choose = [], WayChoice.next
    monkeypatch.setattr(WayChoice, "next", lambda self: asked.append(threading.current_thread()) or choose(self))
    targets.update(frames[1])
    assert set(asked) <= {threading.main_thread()}, "what targets compute beside each other has one thread"
    targets.remove(2)
    targets.update(frames[2])
    assert set(asked) == {threading.main_thread()}, "a target alone may have several"


def test_a_target_may_start_later_and_another_end(tracker, frames):
    targets = tracker.several()
    targets.init(frames[0], {1: BOXES[1]})
    found = [targets.update(frames[1])]
    found[0][2] = targets.add(frames[1], 2, BOXES[2])
    found += [targets.update(frame) for frame in frames[2:5]]
    targets.remove(1)
    found += [targets.update(frame) for frame in frames[5:]]
    assert [sorted(one) for one in found] == [[1, 2]] * 4 + [[2]] * 3
    late = alone(tracker, frames[1:], BOXES[2])
    assert [one[2]["target_bbox"] for one in found] == [one["target_bbox"] for one in late]
    targets.add(frames[7], 1, BOXES[1])  # by the tracker of the removed one
    assert targets.ids == (2, 1)


class Sums(StagedTracker):
    """Asks for patches of several sizes, one after the other, and adds up what it gets."""

    def __init__(self, sides: list[int]) -> None:
        super().__init__(TrackerParams())
        self.sides = sides

    def stages(self, image, info=None):
        total = 0.0
        for side in self.sides:
            features = yield torch.full((side % 2 + 1, 3, side, side), float(side))
            assert len(features["sum"]) == side % 2 + 1
            total += float(features["sum"].sum())
        return {"target_bbox": [total, 0, 1, 1]}

    def extract(self, patches):
        return {"sum": patches.flatten(1).sum(1)}


def test_patches_of_different_sizes_go_in_batches_of_their_own():
    trackers = [Sums([2, 3]), Sums([3, 3, 2]), Sums([2])]
    stages = [Stages(tracker, FRAME, {}) for tracker in trackers]
    with ThreadPoolExecutor(2) as pool:
        run_together(stages, pool)
    assert [one.output for one in stages] == [tracker.track(FRAME) for tracker in trackers]


def test_any_tracker_follows_several():
    targets = pytracking.load("identity").several()
    assert targets.init(FRAME, {3: (1, 2, 3, 4), 4: (5, 6, 7, 8)})[4]["target_bbox"] == [5, 6, 7, 8]
    assert {key: one["target_bbox"] for key, one in targets.update(FRAME).items()} == {3: [1, 2, 3, 4], 4: [5, 6, 7, 8]}
    assert targets.init(FRAME, {}) == {} and targets.update(FRAME) == {}


@pytest.mark.parametrize("object_id", [0, -1, "1", 1.0, True])
def test_ids_are_whole_numbers_from_one_on(object_id):
    with pytest.raises(ValueError, match="id must be an integer >= 1"):
        pytracking.load("identity").several().add(FRAME, object_id, (1, 2, 3, 4))


def test_mistakes_name_the_target():
    targets = pytracking.load("identity").several()
    with pytest.raises(ValueError, match="target 7.*zero or negative"):
        targets.init(FRAME, {7: (1, 2, 0, 4)})
    targets.init(FRAME, {7: (1, 2, 3, 4)})
    with pytest.raises(ValueError, match="target 7 already exists"):
        targets.add(FRAME, 7, (1, 2, 3, 4))
    with pytest.raises(KeyError, match="no target 8; there are: 7"):
        targets.remove(8)
    with pytest.raises(ValueError, match="target 7.*60x20.*60x40"):
        targets.update(FRAME[:20])
