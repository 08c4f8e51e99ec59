"""The IoU-Net on ONNX Runtime: values and gradients of boxes against double precision and autograd."""
import copy

import pytest
import torch

from ltr.engine.box_head import OnnxBoxHead
from ltr.models.bbreg import IoUNet, Modulation, TargetIoU

BOXES = torch.tensor(
    [[40.0, 30, 50, 40], [45.3, 28.7, 33, 61], [-12, 60, 40, 30], [100, 90, 80, 70], [50, 40, 0, 20], [60, 20, 9.5, 7]]
)


@pytest.fixture(scope="module", params=[((6, 7), (8, 9), (10, 11)), ((32, 96), (96, 96), (128, 128))], ids=str)
def setup(request):
    """A network of these widths with lively batch norms, a target and a frame, in both precisions."""
    inputs, channels, inter = request.param
    generator = torch.Generator().manual_seed(0)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = IoUNet(inputs, channels, inter, reference_dim=4).eval()
    for name, buffer in network.named_buffers():
        if buffer.is_floating_point():
            buffer.add_(torch.rand(buffer.shape, generator=generator) - (0.5 if "mean" in name else 0.0))
    maps = {"layer2": (2, inputs[0], 18, 20), "layer3": (2, inputs[1], 9, 10)}
    features = {name: torch.rand(shape, generator=generator) for name, shape in maps.items()}
    reference, test = ({name: fmap[i : i + 1] for name, fmap in features.items()} for i in (0, 1))
    with torch.no_grad():
        modulation = network.modulation(reference, BOXES[:1])
    return network, modulation, test


def by_autograd(network, modulation, test, boxes):
    """In double precision."""
    network, boxes = copy.deepcopy(network).double(), boxes.double().requires_grad_()
    factors = Modulation(*(each.double() for each in modulation))
    maps = network.test_features({name: fmap.double() for name, fmap in test.items()})
    value = network.predict(factors, maps, boxes[None])[0]
    (gradient,) = torch.autograd.grad(value.sum(), boxes)
    return value.detach(), gradient


@pytest.mark.parametrize("rows", [[0], [0, 1, 5], [2], [3], list(range(len(BOXES)))], ids=str)
@pytest.mark.parametrize("threads", [1, 2])
def test_values_and_gradients(setup, rows, threads):
    network, modulation, test = setup
    local = TargetIoU(network, modulation, OnnxBoxHead(network, threads)).at(test)
    expected, expected_gradient = by_autograd(*setup, BOXES[rows])
    for _ in range(2 * threads):  # the ways to run are tried in turn
        value, gradient = local.iou_and_gradient(BOXES[rows])
        torch.testing.assert_close(value, expected.float(), rtol=1e-5, atol=1e-5)
        scale = float(expected_gradient.abs().max())
        torch.testing.assert_close(gradient, expected_gradient.float(), rtol=1e-4, atol=1e-4 * scale)


def test_boxes_may_wander(setup):
    network, modulation, test = setup
    local = TargetIoU(network, modulation, OnnxBoxHead(network, 1)).at(test)
    for box in BOXES:
        value, _ = local.iou_and_gradient(box[None])
        torch.testing.assert_close(value, by_autograd(*setup, box[None])[0].float(), rtol=1e-5, atol=1e-5)
