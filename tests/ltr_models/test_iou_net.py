"""IoU-Net: the folded predictor of one target against autograd through the whole network, in double precision."""
import copy

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ltr.models.bbreg import IoUNet, TargetIoU
from ltr.models.bbreg.bin_weights import LEVELS, BinWeights, Window
from ltr.models.inference import prepare_for_inference
from ltr.ops import integrated_hat_weights

TARGET = torch.tensor([[52.0, 44.0, 38.0, 46.0]], dtype=torch.float64)
BOXES = [
    [50.0, 40.0, 40.0, 50.0],
    [47.3, 41.9, 50.1, 36.6],
    [-20.0, -11.0, 45.0, 60.0],  # leaves at the top left
    [110.0, 90.0, 60.0, 70.0],  # leaves at the bottom right
    [300.0, 310.0, 20.0, 20.0],  # beside the map
    [60.0, 50.0, 0.7, 0.9],  # smaller than a cell
]


def randomised(network: torch.nn.Module, seed: int) -> torch.nn.Module:
    """Batch norms with statistics that matter, so that folding them is tested."""
    generator = torch.Generator().manual_seed(seed)
    for name, buffer in network.named_buffers():
        if name.endswith("running_mean"):
            buffer.copy_(torch.randn(buffer.shape, generator=generator) * 0.2)
        elif name.endswith("running_var"):
            buffer.copy_(torch.rand(buffer.shape, generator=generator) + 0.5)
    return network


@pytest.fixture(scope="module")
def setup():
    torch.manual_seed(3)
    network = randomised(IoUNet((6, 7), (8, 9), (10, 11), reference_dim=4), 4).double().eval()
    features = {
        "layer2": torch.randn(2, 6, 18, 20, dtype=torch.float64),
        "layer3": torch.randn(2, 7, 9, 10, dtype=torch.float64),
    }
    reference, test = ({name: fmap[i : i + 1] for name, fmap in features.items()} for i in (0, 1))
    with torch.no_grad():
        modulation = network.modulation(reference, TARGET)
    return network, modulation, test


def by_autograd(network, modulation, test, boxes):
    boxes = boxes.clone().requires_grad_()
    overlap = network.predict(modulation, network.test_features(test), boxes[None])[0]
    (gradient,) = torch.autograd.grad(overlap.sum(), boxes)
    return overlap.detach(), gradient


@pytest.mark.parametrize("rows", [[0], [0, 1], [2], [3], [4], [5], list(range(len(BOXES)))], ids=str)
def test_folded_network_agrees_with_autograd(setup, rows):
    network, modulation, test = setup
    boxes = torch.tensor([BOXES[row] for row in rows], dtype=torch.float64)
    overlap, gradient = TargetIoU(network, modulation).at(test).iou_and_gradient(boxes)
    expected, expected_gradient = by_autograd(network, modulation, test, boxes)
    torch.testing.assert_close(overlap, expected, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(gradient, expected_gradient, rtol=1e-8, atol=1e-9)


def test_empty_boxes_have_no_gradient(setup):
    network, modulation, test = setup
    boxes = torch.tensor([[50.0, 40.0, 0.0, 50.0], [50.0, 40.0, 30.0, -5.0]], dtype=torch.float64)
    overlap, gradient = TargetIoU(network, modulation).at(test).iou_and_gradient(boxes)
    torch.testing.assert_close(overlap, by_autograd(network, modulation, test, boxes)[0])
    assert not gradient.any()


@settings(max_examples=15, deadline=None)
@given(
    st.lists(
        st.tuples(st.floats(-30, 140), st.floats(-30, 120), st.floats(1, 90), st.floats(1, 90)), min_size=2, max_size=6
    )
)
def test_boxes_may_wander(setup, path):
    """One predictor asked again and again, wherever the boxes go, answers like a fresh one."""
    network, modulation, test = setup
    local = TargetIoU(network, modulation).at(test)
    for box in path:
        boxes = torch.tensor([box], dtype=torch.float64)
        overlap, gradient = local.iou_and_gradient(boxes)
        expected, expected_gradient = by_autograd(network, modulation, test, boxes)
        torch.testing.assert_close(overlap, expected, rtol=1e-8, atol=1e-9)
        torch.testing.assert_close(gradient, expected_gradient, rtol=1e-6, atol=1e-8)


def test_nearby_boxes_compute_few_cells(setup):
    network, modulation, test = setup
    local = TargetIoU(network, modulation).at(test)
    local.iou_and_gradient(torch.tensor([[64.0, 48.0, 16.0, 16.0]], dtype=torch.float64))
    assert local.bin_weights.windows == (Window(5, 10, 7, 12), Window(2, 6, 3, 7))


def test_not_finite_boxes_do_not_crash(setup):
    network, modulation, test = setup
    nowhere = torch.full((1, 4), torch.nan, dtype=torch.float64)
    overlap, _ = TargetIoU(network, modulation).at(test).iou_and_gradient(nowhere)
    assert overlap.shape == (1,)


def test_training_mode_is_refused(setup):
    _, modulation, _ = setup
    with pytest.raises(ValueError, match="eval"):
        TargetIoU(IoUNet((6, 7), (8, 9), (10, 11), reference_dim=4), modulation)


def test_prepared_network_gives_the_same(setup):
    network, modulation, test = setup
    boxes = torch.tensor(BOXES, dtype=torch.float64)
    expected = TargetIoU(network, modulation).at(test).iou_and_gradient(boxes)[0]
    prepared = prepare_for_inference(copy.deepcopy(network))
    torch.testing.assert_close(TargetIoU(prepared, modulation).at(test).iou_and_gradient(boxes)[0], expected)
    torch.testing.assert_close(prepared.predict(modulation, prepared.test_features(test), boxes[None])[0], expected)


def test_training_forward_matches_single_predictions(setup):
    network, _, _ = setup
    generator = torch.Generator().manual_seed(0)
    reference = {"layer2": torch.randn(2, 6, 18, 20, generator=generator, dtype=torch.float64),
                 "layer3": torch.randn(2, 7, 9, 10, generator=generator, dtype=torch.float64)}
    test = {name: torch.cat([fmap, fmap + 1, fmap - 1]) for name, fmap in reference.items()}
    boxes = torch.tensor([[50.0, 40.0, 40.0, 50.0], [20.0, 30.0, 60.0, 40.0]], dtype=torch.float64)
    proposals = boxes.view(2, 1, 1, 4) + torch.randn(2, 3, 5, 4, generator=generator, dtype=torch.float64)
    overlap = network(reference, test, boxes, proposals)
    assert overlap.shape == (2, 3, 5)
    for sequence in range(2):
        shown = {n: f[sequence : sequence + 1] for n, f in reference.items()}
        modulation = network.modulation(shown, boxes[sequence, None])
        for image in range(3):
            index = 3 * sequence + image
            maps = network.test_features({n: f[index : index + 1] for n, f in test.items()})
            single = network.predict(modulation, maps, proposals[sequence, image, None])[0]
            torch.testing.assert_close(overlap[sequence, image], single)


@settings(max_examples=40, deadline=None)
@given(x=st.floats(-40, 150), y=st.floats(-40, 130), w=st.floats(0.5, 120), h=st.floats(0.5, 120))
def test_bin_weights_agree_with_autograd(x, y, w, h):
    windows = (Window(1, 14, 0, 17), Window(0, 9, 2, 8))
    corners = torch.tensor([[x, y, x + w, y + h]], dtype=torch.float64, requires_grad=True)
    bins = BinWeights(windows, np.dtype(np.float64))
    weights = bins.set_boxes(corners.detach().numpy())
    gradients, total = [], 0
    for (count, scale), window, pair in zip(LEVELS, windows, weights, strict=True):
        x1, y1, x2, y2 = (corners * scale).unbind(1)
        expected = (
            integrated_hat_weights(y1, y2, count, window.top, window.rows),
            integrated_hat_weights(x1, x2, count, window.left, window.columns),
        )
        probes = [torch.linspace(-1, 2, e.numel(), dtype=torch.float64).view_as(e) for e in expected]
        for found, wanted in zip(pair, expected, strict=True):
            np.testing.assert_allclose(found, wanted.detach().numpy(), rtol=0, atol=1e-10)
        total = total + sum((e * p).sum() for e, p in zip(expected, probes, strict=True))
        gradients.append(tuple(probe.numpy() for probe in probes))
    (expected,) = torch.autograd.grad(total, corners)
    np.testing.assert_allclose(bins.corner_gradient(gradients), expected.numpy(), rtol=1e-7, atol=1e-8)
