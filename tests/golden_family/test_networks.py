"""Golden folder ``modules``: PrDiMP's, SuperDiMP's and ATOM's networks with filler weights, piece by piece."""
from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from ltr.models.bbreg import TargetIoU
from ltr.models.inference import prepare_for_inference
from ltr.models.target_classifier import DensityOptimizer, OptimizerTrace, softmax_over_cells
from tests.golden_family.support import assert_matches

ATOM = "net_atom18"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "case" in metafunc.fixturenames:
        folder = Path(metafunc.config.getoption("--golden-family-dir")) / "modules"
        names = [file.stem.removeprefix("net_") for file in sorted(folder.glob("net_*.npz")) if file.stem != ATOM]
        assert names, f"no net_*.npz in {folder}"
        metafunc.parametrize("case", names, indirect=True, scope="module")


@pytest.fixture(scope="module")
def case(request, family_dir, family_set, filler, make_network):
    """Golden numbers, the images that they are of, and the network."""
    numbers = dict(np.load(family_dir / "modules" / f"net_{request.param}.npz"))
    seed, size = family_set["seed"], family_set["S"]
    images = [
        torch.tensor(filler.array(tag, (count, 3, size, size), seed), dtype=torch.float32)
        for tag, count in (("im", 1), ("im3", 3))
    ]
    return numbers, images, make_network(request.param, seed)


def test_network_classifier(case):
    numbers, (image, images), net = case
    boxes = torch.tensor(numbers["bb"])
    with torch.inference_mode():
        maps = net.backbone_features(image)
        for layer in ("layer2", "layer3"):
            assert_matches(numbers, f"backbone_{layer}", maps[layer])
        assert_matches(numbers, "clf_feat", net.classification_features(maps))
        features = net.classification_features(net.backbone_features(images))
        assert_matches(numbers, "init_filter", net.classifier.filter_initializer(features[None], boxes[None]))
        trace = OptimizerTrace()
        steps = len(numbers["get_filter_losses"]) - 1
        filters = net.classifier.get_filter(features, boxes, num_iter=steps, trace=trace)
        scores = net.classifier.classify(filters, features)[:, None]
    assert_matches(numbers, "get_filter", filters)
    losses, norms = torch.cat(trace.losses).double(), [float(w.norm()) for w in trace.filters]
    np.testing.assert_allclose(losses, numbers["get_filter_losses"], rtol=1e-4)
    np.testing.assert_allclose(norms, numbers["get_filter_iter_norms"], rtol=1e-4)
    largest = np.abs(numbers["scores"]).max()
    np.testing.assert_allclose(scores, numbers["scores"], rtol=0, atol=1e-4 * largest)
    assert isinstance(net.classifier.filter_optimizer, DensityOptimizer) == ("scores_softmax" in numbers)
    if "scores_softmax" in numbers:
        np.testing.assert_allclose(softmax_over_cells(scores), numbers["scores_softmax"], rtol=0, atol=1e-5)


def test_network_box_head(case):
    numbers, (_, images), net = case
    with torch.inference_mode():
        maps = net.backbone_features(images)
    maps = {name: fmap.clone() for name, fmap in maps.items()}  # leave inference mode: proposals need a gradient
    reference, test = ({name: fmap[i : i + 1] for name, fmap in maps.items()} for i in (0, 1))
    with torch.no_grad():
        modulation = net.bb_regressor.modulation(reference, torch.tensor(numbers["bb"][:1]))
        fine, coarse = net.bb_regressor.test_features(test)
    check_modulation(numbers, modulation)
    assert_matches(numbers, "iou_feat3", fine)
    assert_matches(numbers, "iou_feat4", coarse)
    local = TargetIoU(net.bb_regressor, modulation).at(test)
    values, gradient = local.iou_and_gradient(torch.tensor(numbers["proposals"][0]))
    np.testing.assert_allclose(values, numbers["pred_iou"][0], rtol=0, atol=1e-4)
    np.testing.assert_allclose(gradient, numbers["grad_proposals"][0], rtol=1e-3, atol=1e-5)


def check_modulation(numbers, modulation):
    for factors, name in zip(modulation, ("modulation3", "modulation4"), strict=True):
        scale = np.abs(numbers[name]).max()
        np.testing.assert_allclose(factors.numpy(), numbers[name][:, :, 0, 0], rtol=0, atol=1e-4 * scale)


@pytest.mark.parametrize("prepared", [False, True])
def test_network_atom(family_dir, family_set, filler, make_network, prepared):
    numbers = dict(np.load(family_dir / "modules" / f"{ATOM}.npz"))
    seed, size = family_set["seed"], family_set["S_atom"]
    pixels = np.clip(filler.array("atom_im", (2, 3, size, size), seed, scale=50, offset=120), 0, 255)
    net = make_network("atom_resnet18", seed)
    net = prepare_for_inference(net) if prepared else net
    with torch.inference_mode():
        maps = net.backbone_features(net.normalise(torch.tensor(pixels, dtype=torch.float32)))
        assert_matches(numbers, "iou_backbone2", maps["layer2"])
        assert_matches(numbers, "iou_backbone3", maps["layer3"])
        assert_matches(numbers, "feat", net.classification_features(maps))
        for fmap, name in zip(net.bb_regressor.test_features(maps), ("iou_feat3", "iou_feat4"), strict=True):
            assert_matches(numbers, name, fmap)
        first = {name: fmap[:1] for name, fmap in maps.items()}
        check_modulation(numbers, net.bb_regressor.modulation(first, torch.tensor(numbers["bb"])))
