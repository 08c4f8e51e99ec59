"""The same boxes from both engines, over 100 frames.

A tracker rounds the patch that it cuts to whole pixels. So once in some hundred frames the last digits decide about a
pixel, whatever computes them: two numbers of torch threads part ways as well, and so do two processors. After such a
frame both trackers are brought to one state, so that the next ones can be compared. RLS-DiMP's runs stay together on
eight of nine short demo sequences. DiMP's steepest descent amplifies rounding from update to update: its runs part by
0.1 to 1.6 pixels on all of them. From one state they give the same boxes.
"""
import copy

import numpy as np
import pytest
import torch

from ltr.engine import attach_engine
from ltr.models.inference import prepare_for_inference
from ltr.models.tracking.dimpnet import dimpnet50
from pytracking.evaluation import get_dataset
from pytracking.evaluation.tracker import Tracker
from pytracking.tracker.dimp.dimp import DimpTracker
from pytracking.tracker.dimp.params import DimpParams

FRAMES = 100
PIXELS = 0.05
pytestmark = pytest.mark.filterwarnings("ignore::pytracking.evaluation.networks.FallbackWeightsWarning")


@pytest.fixture(scope="module")
def sequences():
    return get_dataset("demo")


def follow(tracker, sequence, frames: int) -> np.ndarray:
    tracker.initialize(sequence.load_frame(0), {"init_bbox": sequence.ground_truth_rect[0].tolist()})
    return np.array([tracker.track(sequence.load_frame(index))["target_bbox"] for index in range(1, frames)])


@pytest.mark.parametrize("name", ["beetle", "car"])
def test_runs_stay_together(sequences, name):
    sequence, spec = sequences[name], Tracker("rls_dimp", "default", network="dimp_mobile")
    leader, follower = (spec.create_tracker({"engine": engine}) for engine in ("torch", "onnxruntime"))
    assert leader.network.engine is None and follower.network.engine is not None
    for tracker in (leader, follower):
        tracker.initialize(sequence.load_frame(0), {"init_bbox": sequence.ground_truth_rect[0].tolist()})
    parted = 0
    for index in range(1, FRAMES):
        image = sequence.load_frame(index)
        expected, found = (tracker.track(image) for tracker in (leader, follower))
        assert found["flag"] == expected["flag"]
        np.testing.assert_allclose(found["target_bbox"], expected["target_bbox"], rtol=0, atol=PIXELS)
        patches = [tracker.cut_patch(image)[1] for tracker in (leader, follower)]
        if np.abs(patches[0].pos - patches[1].pos).max() > PIXELS:
            follower.state, follower.filters = copy.deepcopy(leader.state), leader.filters
            parted += 1
    assert parted <= FRAMES // 10


def test_dimp50(sequences):
    """Random weights: few frames, for time's sake; ``benchmarks/frame.py --equality`` takes 100."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = dimpnet50(filter_size=4, clf_feat_blocks=0).eval()
        network.bb_regressor.iou_predictor.weight.data.mul_(1e-2)  # boxes move by a few pixels, as with a trained one
    params = DimpParams(device="cpu", image_sample_size=144, target_not_found_threshold=-1e9, net_opt_iter=2)
    networks = [prepare_for_inference(network), copy.deepcopy(network)]
    attach_engine(networks[1], "onnxruntime", torch.device("cpu"), 1)
    assert networks[1].engine is not None
    expected, found = (follow(DimpTracker(params, each), sequences["fish"], 8) for each in networks)
    np.testing.assert_allclose(found, expected, rtol=0, atol=PIXELS)


WHERE_RUNS_MAY_PART = [("bird", "rls_dimp/default"), ("bird", "dimp/dimp50"), ("car", "dimp/dimp50")]


@pytest.mark.parametrize(("name", "tracker"), WHERE_RUNS_MAY_PART)
def test_from_the_same_state_everywhere(sequences, name, tracker):
    sequence, spec = sequences[name], Tracker(*tracker.split("/"), network="dimp_mobile")
    leader, follower = (spec.create_tracker({"engine": engine}) for engine in ("torch", "onnxruntime"))
    for tracker in (leader, follower):
        tracker.initialize(sequence.load_frame(0), {"init_bbox": sequence.ground_truth_rect[0].tolist()})
    for index in range(1, FRAMES):
        follower.state, follower.filters = copy.deepcopy(leader.state), leader.filters
        image = sequence.load_frame(index)
        expected, found = (tracker.track(image) for tracker in (leader, follower))
        assert found["flag"] == expected["flag"]
        np.testing.assert_allclose(found["target_bbox"], expected["target_bbox"], rtol=0, atol=PIXELS)
