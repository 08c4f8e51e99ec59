"""Whole networks: what is computed, what is skipped, training forward passes, preparation for inference."""
import copy

import pytest
import torch

from ltr.models.backbone import MobileNetV2, resnet18, resnet50
from ltr.models.backbone.mobilenet import InvertedResidual
from ltr.models.inference import prepare_for_inference
from ltr.models.tracking.dimpnet import dimpnet18, dimpnet50, dimpnet_mobile
from ltr.models.tracking.mdnet import SPECS, alexnet_convolutions, mdnet

SMALL = {
    "width": 0.25, "out_feature_dim": 12, "iou_input_dim": (8, 8), "iou_inter_dim": (8, 8), "iou_reference_dim": 4,
    "optim_iter": 2,
}


def randomise_norms(network: torch.nn.Module) -> torch.nn.Module:
    with torch.no_grad():
        for module in network.modules():
            if isinstance(module, (torch.nn.BatchNorm1d, torch.nn.BatchNorm2d)):
                module.running_mean.normal_(0, 0.2)
                module.running_var.uniform_(0.5, 1.5)
                module.weight.uniform_(0.7, 1.3)
    return network


@pytest.fixture(scope="module")
def mobile():
    torch.manual_seed(0)
    return randomise_norms(dimpnet_mobile(**SMALL)).eval()


def test_layers_after_the_deepest_are_not_computed():
    network = resnet18().eval()

    def fail(*_):
        raise AssertionError("layer4 was computed")

    network.layer4.register_forward_hook(fail)
    image = torch.zeros(1, 3, 64, 64)
    assert list(network(image)) == ["layer2", "layer3"]
    assert list(network(image, ["conv1"])) == ["conv1"]
    with pytest.raises(AssertionError, match="layer4"):
        network(image, ["layer4"])
    with pytest.raises(ValueError, match="layer9"):
        network(image, ["layer9"])


def test_resnet_without_unused_layers_and_with_caffe_strides():
    network = resnet50(last_stage=3, num_classes=None, stride_on_first=True)
    assert not any(name.startswith(("layer4", "fc")) for name in network.state_dict())
    assert network.layer2[0].conv1.stride == (2, 2) and network.layer2[0].conv2.stride == (1, 1)
    assert network.layer3[0].downsample[0].stride == (2, 2) and network.layer1[0].conv1.stride == (1, 1)


@pytest.mark.parametrize(
    ("taps", "channels"),
    [
        ({"layer2": "6", "layer3": "14e"}, (32, 576)),
        ({"layer2": "7e", "layer3": "13"}, (192, 96)),
        ({"layer2": "5", "layer3": "8e"}, (32, 384)),
    ],
)
def test_mobilenet_taps(taps, channels):
    network = MobileNetV2(taps).eval()
    maps = network(torch.zeros(1, 3, 64, 96))
    assert maps["layer2"].shape == (1, channels[0], 8, 12) and maps["layer3"].shape == (1, channels[1], 4, 6)
    assert network.channels == {"layer2": channels[0], "layer3": channels[1]}
    deepest = max(int(tap.rstrip("e")) for tap in taps.values())
    assert {int(name.split(".")[1]) for name in network.state_dict()} == set(range(deepest + 1))


@pytest.mark.parametrize("taps", [{"layer2": "7"}, {"layer3": "6"}, {"layer3": "99"}, {"layer7": "6"}])
def test_mobilenet_wrong_taps_are_named(taps):
    with pytest.raises(ValueError, match=f"tap '{next(iter(taps.values()))}'"):
        MobileNetV2(taps)


def test_expansion_tap_is_the_hidden_map_of_its_block():
    network = MobileNetV2({"layer2": "7e", "layer3": "8"}).eval()
    image = torch.randn(1, 3, 64, 64)
    with torch.no_grad():
        maps = network(image)
        x = network.features[:7](image)
        torch.testing.assert_close(maps["layer2"], network.features[7].conv[0](x))
        torch.testing.assert_close(maps["layer3"], network.features[8](network.features[7](x)))


def test_upper_blocks_lead_from_the_fine_map_to_the_coarse_one():
    network = MobileNetV2({"layer2": "6", "layer3": "13"}).eval()
    with torch.no_grad():
        maps = network(torch.randn(1, 3, 64, 64))
        torch.testing.assert_close(network.upper_blocks()(maps["layer2"]), maps["layer3"])


@pytest.mark.parametrize("channels_last", [True, False])
def test_preparation_changes_nothing_but_speed(mobile, channels_last):
    prepared = prepare_for_inference(copy.deepcopy(mobile), channels_last=channels_last)
    assert not any(isinstance(module, torch.nn.BatchNorm2d) for module in prepared.modules())
    assert not any(parameter.requires_grad for parameter in prepared.parameters())
    images = torch.randn(2, 3, 128, 128)
    boxes = torch.tensor([[40.0, 44.0, 40.0, 36.0]] * 2)
    with torch.inference_mode():
        for before, after in zip(outputs(mobile, images, boxes), outputs(prepared, images, boxes), strict=True):
            torch.testing.assert_close(after, before, rtol=1e-3, atol=1e-4)


def test_frozen_blocks_compute_the_same_to_the_last_bit(mobile):
    prepared = prepare_for_inference(copy.deepcopy(mobile))
    blocks = [module for module in prepared.modules() if isinstance(module, InvertedResidual)]
    assert blocks and all(len(block.frozen) == len([m for m in block.modules() if isinstance(m, torch.nn.Conv2d)])
                          for block in blocks)  # fmt: skip
    images = torch.randn(2, 3, 96, 128)
    with torch.inference_mode():
        frozen = prepared.backbone_features(images)
        for block in blocks:
            block.frozen = []
        for name, features in prepared.backbone_features(images).items():
            assert torch.equal(frozen[name], features)


def outputs(network, images, boxes):
    features = network.backbone_features(images)
    samples = network.classification_features(features)
    filters = network.classifier.get_filter(samples, boxes)
    one = {name: fmap[:1] for name, fmap in features.items()}
    overlap, gradient = network.target_iou(one, boxes[0]).at(one).iou_and_gradient(boxes + 3)
    return [*features.values(), samples, filters, network.classifier.classify(filters, samples), overlap, gradient]


def test_preparation_drops_unused_layers_and_refuses_training_mode():
    network = dimpnet18(filter_size=4)
    with pytest.raises(ValueError, match="eval"):
        prepare_for_inference(network)
    prepared = prepare_for_inference(network.eval())
    assert not hasattr(prepared.feature_extractor, "layer4") and not hasattr(prepared.feature_extractor, "fc")


def test_meta_training_forward_reaches_every_part(mobile):
    network = copy.deepcopy(mobile).train()
    generator = torch.Generator().manual_seed(1)
    train, test = (torch.randn(2, count, 3, 96, 96, generator=generator) for count in (3, 2))
    boxes = torch.tensor([30.0, 32.0, 36.0, 30.0]).expand(2, 3, 4)
    proposals = boxes[:, :2, None] + 4 * torch.randn(2, 2, 5, 4, generator=generator)
    scores, losses, overlap = network(train, test, boxes, proposals)
    assert len(scores) == len(losses) == 3 and scores[0].shape == (2, 2, 7, 7) and losses[0].shape == (2,)
    assert overlap.shape == (2, 2, 5)
    (sum(s.square().mean() for s in scores) + overlap.square().mean()).backward()
    dead = [name for name, p in network.named_parameters() if p.grad is None or not torch.isfinite(p.grad).all()]
    assert not dead
    assert network(train, test, boxes)[2] is None


def test_forward_scores_are_those_of_the_tracking_path(mobile):
    generator = torch.Generator().manual_seed(2)
    train, test = torch.randn(1, 2, 3, 96, 96, generator=generator), torch.randn(1, 1, 3, 96, 96, generator=generator)
    boxes = torch.tensor([[[30.0, 32.0, 36.0, 30.0]] * 2])
    with torch.inference_mode():
        scores, _, _ = mobile(train, test, boxes, num_iter=3)
        samples = mobile.classification_features(mobile.backbone_features(train[0]))
        filters = mobile.classifier.get_filter(samples, boxes[0], num_iter=3)
        found = mobile.classifier.classify(filters, mobile.classification_features(mobile.backbone_features(test[0])))
    torch.testing.assert_close(found[None], scores[-1], rtol=1e-4, atol=1e-5)


def test_published_constructors_accept_backbone_options():
    network = dimpnet50(filter_size=4, clf_feat_blocks=0, backbone={"last_stage": 3, "num_classes": None})
    assert not any("layer4" in name for name in network.state_dict())


@pytest.mark.parametrize("spec", SPECS)
def test_mdnet_geometry(spec):
    """The computed stride and receptive field are those that a perturbation shows."""
    torch.manual_seed(0)
    network = mdnet(spec=spec, hidden=8).double().eval()
    side = network.receptive_field + 2 * network.stride
    image = torch.randn(1, 3, side, side, dtype=torch.float64, requires_grad=True)
    fmap = network.feature_map(image)
    assert fmap.shape[-2:] == (3, 3)
    (gradient,) = torch.autograd.grad(fmap[0, :, 1, 1].sum(), image)
    touched = gradient.abs().sum((0, 1)).nonzero()
    low, high = touched.min(0).values, touched.max(0).values
    assert (low >= network.stride).all() and (high < network.stride + network.receptive_field).all()
    assert mdnet(spec=spec, hidden=8).feature_map(image.detach()[..., 2 * network.stride :].float()).shape[-1] == 1


def test_mdnet_trains_one_domain_at_a_time():
    torch.manual_seed(0)
    network = mdnet(spec="alexnet", num_branches=3, hidden=16)
    rois = torch.tensor([[0.0, 4.0, 6.0, 40.0, 44.0], [1.0, 10.0, 8.0, 60.0, 50.0]])
    network(torch.randn(2, 3, 139, 139) * 50, rois, branch=1).sum().backward()
    assert network.branches[1][1].weight.grad.any() and network.layers.conv1[0].weight.grad.any()
    assert network.branches[0][1].weight.grad is None and network.branches[2][1].weight.grad is None


def test_mdnet_branch_is_drawn_from_its_own_generator():
    network = mdnet(spec="alexnet", hidden=16)
    state = torch.get_rng_state()
    drawn = []
    for _ in range(2):
        network.reset_branch(generator=torch.Generator().manual_seed(7))
        drawn.append(network.branches[0][1].weight.clone())
    torch.testing.assert_close(*drawn, rtol=0, atol=0)
    assert drawn[0].abs().max() <= 0.25 and drawn[0].std() > 0.05
    assert torch.equal(state, torch.get_rng_state())


def test_mdnet_wrong_spec_is_named():
    with pytest.raises(ValueError, match="vgg19"):
        mdnet(spec="vgg19")
    with pytest.raises(ValueError, match="3 convolutions"):
        mdnet(spec=[{"channels": 8, "kernel": 3}])


def test_alexnet_normalisation_folds_exactly():
    torch.manual_seed(0)
    network = mdnet(spec="alexnet", hidden=4).eval()
    shapes = {0: (64, 3, 11), 3: (192, 64, 5), 6: (384, 192, 3)}
    state = {}
    for index, (out, channels, kernel) in shapes.items():
        state[f"features.{index}.weight"] = torch.randn(out, channels, kernel, kernel) * 0.05
        state[f"features.{index}.bias"] = torch.randn(out)
    network.load_state_dict(alexnet_convolutions(state), strict=False)
    image = torch.randint(0, 256, (1, 3, 51, 51)).float()
    mean, std = torch.tensor([0.485, 0.456, 0.406]), torch.tensor([0.229, 0.224, 0.225])
    normalised = (image / 255 - mean.view(3, 1, 1)) / std.view(3, 1, 1)
    expected = torch.nn.functional.conv2d(normalised, state["features.0.weight"], state["features.0.bias"], stride=4)
    torch.testing.assert_close(network.layers.conv1[0](network.normalise(image)), expected, rtol=1e-4, atol=1e-3)
