"""Golden folder ``modules``: backbones, classifier and IoU-Net with filler weights, layer by layer."""
import functools

import numpy as np
import pytest
import torch

from ltr.models.bbreg import TargetIoU
from ltr.models.inference import prepare_for_inference
from ltr.models.target_classifier import OptimizerTrace
from ltr.models.tracking import dimpnet

PUBLISHED = {"filter_size": 4, "optim_init_step": 0.9, "optim_init_reg": 0.1, "init_gauss_sigma": 0.9}
PUBLISHED |= {"num_dist_bins": 100, "bin_displacement": 0.1, "mask_init_factor": 3.0}
BACKBONE_LAYERS = ["conv1", "layer1", "layer2", "layer3", "layer4"]


def build(depth: str):
    blocks = {"18": 1, "50": 0}[depth]
    return getattr(dimpnet, f"dimpnet{depth}")(clf_feat_blocks=blocks, **PUBLISHED).eval()


@pytest.fixture(scope="module", params=["18", "50"])
def case(request, golden_dir, golden_set, filler):
    """Golden numbers and everything this package computes beside them, with and without preparation for inference."""
    numbers = dict(np.load(golden_dir / "modules" / f"net{request.param}.npz"))
    seed, size = golden_set["seed"], golden_set["S"]
    images = [
        torch.tensor(filler.array(tag, (count, 3, size, size), seed), dtype=torch.float32)
        for tag, count in (("im", 1), ("im3", 3))
    ]
    return numbers, images, functools.partial(filled, request.param, filler, seed)


def filled(depth, filler, seed):
    return filler.fill_module(build(depth), seed)


def assert_matches(numbers: dict, name: str, tensor: torch.Tensor, tolerance: float = 1e-4) -> None:
    values = tensor.detach().double().contiguous().numpy()
    assert values.shape == tuple(numbers[f"{name}_shape"]), name
    flat = values.ravel()
    stats = [flat.mean(), flat.std(), flat.min(), flat.max(), np.abs(flat).sum()]
    expected = numbers[f"{name}_stats"]
    largest = max(abs(expected[2]), abs(expected[3]))
    # the mean of a signed map may nearly cancel, so its error is relative to the spread of what it averages
    scale = np.array([max(abs(expected[0]), expected[1]), *np.abs(expected[1:2]), largest, largest, expected[4]])
    assert np.all(np.abs(stats - expected) <= tolerance * scale), (name, stats, expected)
    subset = flat[:: int(numbers[f"{name}_stride"])]
    np.testing.assert_allclose(subset, numbers[f"{name}_sub"], rtol=0, atol=tolerance * largest, err_msg=name)


def test_modules_backbone(case):
    numbers, (image, _), make = case
    with torch.inference_mode():
        maps = make().feature_extractor(image, BACKBONE_LAYERS)
    for name in BACKBONE_LAYERS:
        assert_matches(numbers, f"backbone_{name}", maps[name])


@pytest.mark.parametrize("prepared", [False, True])
def test_modules_classifier(case, prepared):
    numbers, (image, images), make = case
    net = prepare_for_inference(make()) if prepared else make()
    boxes = torch.tensor(numbers["bb"])
    with torch.inference_mode():
        assert_matches(numbers, "clf_feat", net.classification_features(net.backbone_features(image)))
        features = net.classification_features(net.backbone_features(images))
        assert_matches(numbers, "init_filter", net.classifier.filter_initializer(features[None], boxes[None]))
        trace = OptimizerTrace()
        filters = net.classifier.get_filter(features, boxes, num_iter=10, trace=trace)
        assert_matches(numbers, "get_filter", filters)
        losses = torch.cat(trace.losses).double().numpy()
        np.testing.assert_allclose(losses, numbers["get_filter_losses"], rtol=1e-4)
        scores = net.classifier.classify(filters, features)[:, None].numpy()
        if prepared:
            # Ten steps amplify rounding: the goldens' own single precision is up to 1.2e-5 from float64 here, so what
            # changed the order of operations is held to the exact result instead, with the same tolerance.
            oracle = make().double()
            exact = oracle.classification_features(oracle.backbone_features(images.double()))
            filters = oracle.classifier.get_filter(exact, boxes.double(), num_iter=10)
            expected = oracle.classifier.classify(filters, exact)[:, None].numpy()
        else:
            expected = numbers["scores"]
        np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("prepared", [False, True])
def test_modules_iounet(case, prepared):
    numbers, (_, images), make = case
    net = prepare_for_inference(make()) if prepared else make()
    with torch.inference_mode():
        maps = net.backbone_features(images)
    maps = {name: fmap.clone() for name, fmap in maps.items()}  # leave inference mode: proposals need a gradient
    reference, test = ({name: fmap[i : i + 1] for name, fmap in maps.items()} for i in (0, 1))
    iou_net = net.bb_regressor
    with torch.no_grad():
        modulation = iou_net.modulation(reference, torch.tensor(numbers["bb"][:1]))
        fine, coarse = iou_net.test_features(test)
    for factors, name in zip(modulation, ("modulation3", "modulation4"), strict=True):
        scale = np.abs(numbers[name]).max()
        np.testing.assert_allclose(factors.numpy(), numbers[name][:, :, 0, 0], rtol=0, atol=1e-4 * scale)
    assert_matches(numbers, "iou_feat3", fine)
    assert_matches(numbers, "iou_feat4", coarse)
    proposals = torch.tensor(numbers["proposals"], requires_grad=True)
    overlap = iou_net.predict(modulation, (fine, coarse), proposals)
    overlap.sum().backward()
    np.testing.assert_allclose(overlap.detach().numpy(), numbers["pred_iou"], rtol=0, atol=1e-4)
    np.testing.assert_allclose(proposals.grad.numpy(), numbers["grad_proposals"], rtol=1e-3, atol=1e-5)

    local = TargetIoU(iou_net, modulation).at(test)
    overlap, gradient = local.iou_and_gradient(torch.tensor(numbers["proposals"][0]))
    np.testing.assert_allclose(overlap.numpy(), numbers["pred_iou"][0], rtol=0, atol=1e-4)
    np.testing.assert_allclose(gradient.numpy(), numbers["grad_proposals"][0], rtol=1e-3, atol=1e-5)
