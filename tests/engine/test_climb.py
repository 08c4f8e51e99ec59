"""A refinement in one call against the same refinement step by step."""
import numpy as np
import pytest
import torch

from ltr.engine.box_head import OnnxBoxHead
from ltr.models.bbreg import IoUNet, TargetIoU
from pytracking.tracker.dimp.refinement import climb, climb_in_engine

BOXES = np.array(
    [[60, 50, 50, 40], [65.3, 48.7, 33, 61], [50, 60, 40, 30], [70, 60, 50, 45], [60, 40, 9.5, 17]], np.float32
)
# space, steps, their length and decay
WAYS = [("edges", 5, 0.1, 1.0), ("default", 5, (0.2, 0.1), 0.7), ("edges", 1, 0.3, 1.0), ("default", 3, 0.1, 1.0)]


@pytest.fixture(scope="module")
def make_local():
    """Makes the predictor of a small random network in a frame, for a number of threads."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = IoUNet((6, 7), (8, 9), (10, 11), reference_dim=4).eval()
        features = {"layer2": torch.rand(1, 6, 18, 20), "layer3": torch.rand(1, 7, 9, 10)}
        network.iou_predictor.weight.data.mul_(8)  # so that boxes move by pixels
    with torch.no_grad():
        modulation = network.modulation(features, torch.tensor(BOXES[:1]))
    return lambda threads=1: TargetIoU(network, modulation, OnnxBoxHead(network, threads)).at(features)


@pytest.mark.parametrize(("space", "iterations", "length", "decay"), WAYS, ids=str)
def test_as_step_by_step(make_local, space, iterations, length, decay):
    expected, values = climb(BOXES, make_local(), iterations, length, decay, space)
    assert np.abs(expected - BOXES).max() > 0.3
    found = climb_in_engine(BOXES, make_local(), iterations, length, decay, space)
    np.testing.assert_allclose(found[0], expected, rtol=0, atol=1e-3)
    np.testing.assert_allclose(found[1], values, rtol=0, atol=1e-5)


def test_threads_change_nothing(make_local):
    alone, shared = make_local(), make_local(threads=2)
    expected = climb_in_engine(BOXES, alone, 5, 0.1, 1.0, "edges")
    for _ in range(8):  # whole and in parts, as long as both are tried
        for each, other in zip(climb_in_engine(BOXES, shared, 5, 0.1, 1.0, "edges"), expected, strict=True):
            np.testing.assert_array_equal(each, other)


@pytest.mark.parametrize("length", [40.0, 1000.0])
def test_boxes_that_wander_off_or_vanish_go_step_by_step(make_local, length):
    assert climb_in_engine(BOXES, make_local(), 5, length, 1.0, "edges") is None


def test_what_one_call_cannot_do(make_local):
    assert climb_in_engine(BOXES, make_local(), 5, 0.1, 1.0, "relative") is None
