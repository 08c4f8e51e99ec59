"""Golden folder ``modules``: localisation, refinement, labels and memory of the family's trackers."""
from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from ltr.models.bbreg import IoUNet, Modulation, TargetIoU
from ltr.models.target_classifier.objective import centre_distance, gaussian
from pytracking.parameter.atom import default, default_vot
from pytracking.parameter.dimp import prdimp50
from pytracking.tracker.atom.atom import AtomTracker
from pytracking.tracker.atom.objective import AtomObjective
from pytracking.tracker.atom.params import AtomClassifier
from pytracking.tracker.atom.score_map import interpolate
from pytracking.tracker.dimp.geometry import PatchFrame
from pytracking.tracker.dimp.localization import localizer_for
from pytracking.tracker.dimp.refinement import RelativeSpace, climb
from pytracking.tracker.dimp.sample_memory import SampleMemory
from pytracking.tracker.dimp.score_maps import preprocess, sum_around
from tests.golden_family.support import assert_matches, bare, load, numbered, padded

SOFTMAX_MODES = {  # of modules/README.md: changed parameters, and the softmax's further logit
    "softmax": ({}, None),
    "softmax_reg": ({}, 2.0),
    "exp": ({"score_preprocess": "exp", "target_not_found_threshold": 2.0}, None),
    "filter3": ({"score_filter_ksz": 3, "target_not_found_threshold": 0.2}, None),
    "plain": ({"advanced_localization": False}, None),
    "thresholds": ({"uncertain_threshold": 0.06, "hard_sample_threshold": 0.09}, None),
}
ATOM_MODES = {
    "default": default.parameters(),
    "vot": default_vot.parameters(),
    "vot_hnw": replace(default_vot.parameters(), distractor_threshold=0.8, perform_hn_without_windowing=True),
    "plain": replace(default.parameters(), advanced_localization=False),
}
REFINEMENT_MODES = {  # iterations, step, decay, relative, undo
    "dimp_default": (5, 1.0, 1.0, False, False),
    "dimp_default_decay": (5, 1.0, 0.6, False, False),
    "dimp_relative": (10, 2.5e-3, 1.0, True, False),
    "dimp_relative_pair": (5, (1e-2, 3e-3), 0.7, True, False),
    "atom_default": (5, 1.0, 1.0, False, True),
    "atom_default_decay": (8, 40.0, 0.5, False, True),
    "atom_relative_decay": (8, (0.3, 0.1), 0.5, True, True),
}


@pytest.mark.parametrize("mode", SOFTMAX_MODES)
def test_localize_softmax(family_dir, mode):
    golden = load(family_dir, "localize_softmax")
    changes, extra_logit = SOFTMAX_MODES[mode]
    params = replace(prdimp50.parameters(), **changes)
    localize = localizer_for(params)
    cell_size = np.full(2, 16 * float(golden["sample_scale"][0]))
    for match in numbered(golden, r"(\d+)_score"):
        key = f"{match[1]}_{mode}"
        scores = preprocess(torch.tensor(golden[match[0]]), params.score_preprocess, extra_logit)
        scores = sum_around(scores, params.score_filter_ksz).numpy()
        found = localize(scores, cell_size, golden["pos"] - golden["sample_pos"][0], golden["target_sz"])
        assert found.flag == str(golden[f"{key}_flag"]).replace("none", "normal"), key
        np.testing.assert_allclose(found.translation, golden[f"{key}_translation"], rtol=0, atol=1e-3, err_msg=key)
        assert found.max_score == pytest.approx(float(golden[f"{key}_max"]), rel=2e-6), key
        if f"{key}_map" in golden:
            np.testing.assert_allclose(found.scores, golden[f"{key}_map"], rtol=0, atol=2e-6)


@pytest.mark.parametrize("mode", ATOM_MODES)
def test_localize_atom(family_dir, mode):
    golden = load(family_dir, "localize_atom")
    target_scale = float(golden["target_scale"])
    for match in numbered(golden, r"(even|odd|up2)(\d+)_score"):
        kind, key = match[1], f"{match[1]}{match[2]}"
        kernel, upsampling = int(golden[f"{kind}_ksz"][0]), int(golden[f"{kind}_up"])
        classifier = AtomClassifier(kernel_size=kernel, score_upsample_factor=upsampling)
        tracker = bare(AtomTracker, replace(ATOM_MODES[mode], classifier=classifier))
        tracker.patch_size = 16 * np.array(golden[match[0]].shape)
        localize = tracker.make_localizer(None)
        scores = interpolate(torch.tensor(golden[match[0]]), tracker.map_size, kernel).numpy()
        found = localize(scores, tracker.cell_pixels * target_scale, np.zeros(2), golden["target_sz"])
        assert found.flag == golden[f"{key}_{mode}_flag"], (key, mode)
        np.testing.assert_allclose(
            found.translation, golden[f"{key}_{mode}_translation"], rtol=0, atol=1e-3, err_msg=key
        )
        assert found.max_score == pytest.approx(float(golden[f"{key}_{mode}_max"]), abs=2e-6)
        if mode == "default" and f"{key}_map_sub" in golden:
            np.testing.assert_allclose(found.scores[::7, ::7], golden[f"{key}_map_sub"], rtol=0, atol=2e-6)


class MapsOfTheHead:
    """A box head on given maps of its test branch, in any precision, by autograd: the oracle's own way."""

    def __init__(self, head, modulation, maps):
        self.head, self.modulation, self.maps = head, modulation, maps

    def iou_and_gradient(self, boxes):
        variable = boxes[None].clone().requires_grad_(True)
        values = self.head.predict(self.modulation, self.maps, variable)
        (gradient,) = torch.autograd.grad(values.sum(), variable)
        return values[0].detach(), gradient[0]

    def values_and_gradient(self, boxes):
        return tuple(each.numpy() for each in self.iou_and_gradient(torch.tensor(boxes)))


@pytest.fixture(scope="module")
def refinement(family_dir, filler, family_set):
    """Golden numbers, and the box head on the golden maps in a precision."""
    golden, seed, size = load(family_dir, "refine"), family_set["seed"], family_set["S"]
    assert size == int(golden["S"])
    maps = []
    for name, side, blur in (("refine_f3", size // 8, 5), ("refine_f4", size // 16, 3)):
        noise = torch.tensor(np.abs(filler.array(name, (1, 256, side, side), seed)))
        ones = torch.full((256, 1, blur, blur), 1 / blur**2, dtype=noise.dtype)
        maps.append(F.conv2d(noise, ones, padding=blur // 2, groups=256))
    assert_matches(golden, "f3", maps[0], 1e-10)
    assert_matches(golden, "f4", maps[1], 1e-10)
    factors = [torch.tensor(np.abs(filler.array(f"refine_m{i}", (1, 256, 1, 1), seed))).flatten(1) for i in (3, 4)]

    def make(dtype):
        head = filler.fill_module(IoUNet((512, 1024)).to(dtype), seed, prefix="bb_regressor.").eval()
        modulation = Modulation(*(values.to(dtype) for values in factors))
        return MapsOfTheHead(head, modulation, tuple(fmap.to(dtype) for fmap in maps))

    return golden, make


@pytest.mark.parametrize(("precision", "dtype"), [("f32", torch.float32), ("f64", torch.float64)])
def test_refinement(refinement, precision, dtype):
    golden, make = refinement
    start, head = torch.tensor(golden["init_boxes"], dtype=dtype).numpy(), make(dtype)
    space = RelativeSpace(start)
    values, gradient = head.values_and_gradient(start)
    exact = precision == "f64"
    np.testing.assert_allclose(space.coordinates(start), golden["init_rel"], rtol=1e-10 if exact else 1e-5)
    np.testing.assert_allclose(values, golden[f"{precision}_value0"][0], rtol=0, atol=1e-8 if exact else 1e-4)
    relative = space.uphill(start, gradient)
    for found, name in ((gradient, "grad0"), (relative, "grad0_rel")):
        expected = golden[f"{precision}_{name}"][0]
        atol = (1e-8 if exact else 1e-3) * np.abs(expected).max()
        np.testing.assert_allclose(found, expected, rtol=0, atol=atol, err_msg=name)
    for mode, (iterations, step, decay, is_relative, undo) in REFINEMENT_MODES.items():
        for count, suffix in ((1, "_it1"), (iterations, "")):
            boxes, values = climb(start, head, count, step, decay, "relative" if is_relative else "default", undo=undo)
            pixels = 2e-2 if mode.startswith("atom") and mode.endswith("decay") else 2e-3
            key = f"{precision}_{mode}{suffix}"
            np.testing.assert_allclose(
                boxes, golden[f"{key}_boxes"], rtol=0, atol=1e-8 if exact else pixels, err_msg=key
            )
            np.testing.assert_allclose(
                values, golden[f"{key}_values"], rtol=0, atol=1e-8 if exact else 1e-4, err_msg=key
            )


def test_folded_box_head_has_the_relative_gradient(refinement, filler, family_set):
    """What trackers use instead of autograd: the same values and gradients on real features of the backbone's shape."""
    golden, make = refinement
    head = make(torch.float64).head
    size, seed = family_set["S"], family_set["seed"]
    features = {
        name: torch.tensor(filler.array(name, (1, channels, size // stride, size // stride), seed))
        for name, channels, stride in (("layer2", 512, 8), ("layer3", 1024, 16))
    }
    boxes = torch.tensor(golden["init_boxes"])
    with torch.no_grad():
        modulation = head.modulation(features, boxes[:1])
        oracle = MapsOfTheHead(head, modulation, head.test_features(features))
    local = TargetIoU(head, modulation).at(features)
    for found, expected in zip(local.iou_and_gradient(boxes), oracle.iou_and_gradient(boxes), strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-9)


def test_labels(family_dir):
    golden = load(family_dir, "atom_labels")
    for match in numbered(golden, r"label(\d+)_sz"):
        name, size = f"label{match[1]}", golden[match[0]]
        # A target at `center` from the middle of the map, as a box whose middle is there in cells.
        middle = (size - 1) / 2 + golden[f"{name}_center"]
        box = torch.tensor([[[16 * middle[1], 16 * middle[0], 0, 0]]], dtype=torch.float64)
        for padding in (0, 1):
            label = gaussian(centre_distance(box, size + padding, 4, 16), float(golden[f"{name}_sigma"]))[0, 0]
            if padding:
                assert list(label.shape) == golden[f"{name}_padded_shape"].tolist()
                np.testing.assert_allclose(label[-1], golden[f"{name}_padded_lastrow"], rtol=0, atol=1e-6)
            else:
                np.testing.assert_allclose(label, golden[name], rtol=0, atol=1e-6)


def test_labels_of_the_tracker(family_dir):
    golden = load(family_dir, "atom_labels")
    tracker = bare(AtomTracker, default.parameters())
    tracker.network = type("Stride", (), {"feature_stride": 16})
    side, size = int(golden["track_S"]), golden["track_target_sz"].astype(float)
    base_size = size / float(golden["track_scale"])
    tracker.label_sigma = 0.25 * np.sqrt(base_size.prod()) / 16
    assert tracker.label_sigma == pytest.approx(float(golden["track_sigma"][0]), abs=1e-6)
    like = torch.zeros(1, 1, side // 16, side // 16, dtype=torch.float64)
    first = PatchFrame(np.round(golden["track_pos"]), float(golden["track_scale"]), np.full(2, side))
    box = first.box_in_patch(golden["track_pos"].astype(float), size)
    boxes = np.stack([box + [x, y, 0, 0] for y, x in golden["track_shifts"]])
    np.testing.assert_allclose(
        tracker.labels(torch.tensor(boxes), like), golden["track_init_labels"], rtol=0, atol=1e-6
    )
    later = PatchFrame(golden["track_label_sample_pos"], float(golden["track_label_scale"]), np.full(2, side))
    box = later.box_in_patch(golden["track_label_pos"], size)
    np.testing.assert_allclose(
        tracker.labels(torch.tensor(box[None]), like)[0], golden["track_label"], rtol=0, atol=1e-6
    )


def test_activation(family_dir):
    golden = load(family_dir, "atom_labels")
    scores = torch.tensor(golden["mlu_x"])
    problem = AtomObjective(None, None, None, None, 0.05)
    np.testing.assert_allclose(problem.activation(scores), golden["mlu_y"], rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(problem.derivative(scores), golden["mlu_dy"], rtol=1e-12, atol=1e-15)


def test_memory(family_dir):
    golden = load(family_dir, "memory_atom")
    for match in numbered(golden, r"mem(\d+)_cfg"):
        i, config = match[1], json.loads(str(golden[match[0]]))
        memory = SampleMemory(
            torch.zeros(config["num_init"], 1, 1, 1),
            torch.zeros(config["num_init"], 4),
            size=config["memory"],
            learning_rate=config["default_lr"],
            init_samples_minimum_weight=config["init_samples_minimum_weight"] or 0.0,
        )
        for step, learning_rate in enumerate(config["learning_rates"]):
            assert memory.add(torch.zeros(1, 1, 1, 1), torch.zeros(4), learning_rate) == golden[f"mem{i}_replace"][step]
            found = padded(memory.weights, memory.size)
            np.testing.assert_allclose(found, golden[f"mem{i}_weights"][step], rtol=0, atol=1e-6)
