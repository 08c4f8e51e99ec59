"""Golden folder ``modules``: the first frame's samples, and the search crop after them."""
from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from pytracking.features.crop import sample_patch
from pytracking.parameter.atom import default
from pytracking.parameter.dimp import prdimp50
from pytracking.tracker.atom.atom import AtomTracker
from pytracking.tracker.dimp.dimp import DimpTracker
from pytracking.tracker.dimp.first_frame import sample_first_frame
from pytracking.tracker.dimp.geometry import TargetState
from tests.golden_family.support import bare, load, numbered, read_frame

FIRST_BOXES = {"gt": None, "corner": [3, 250, 70, 100], "big": [150, 20, 260, 300]}


@pytest.mark.parametrize("box", FIRST_BOXES)
@pytest.mark.parametrize("border", ["replicate", "inside", "inside_major"])
def test_first_samples(family_dir, family_set, dragonbaby, box, border):
    golden, key, size = load(family_dir, "init_samples"), f"{box}_{border}", family_set["S"]
    index = int(golden["frame_index0"])
    image = read_frame(dragonbaby, index + 1)
    params = replace(prdimp50.parameters(), image_sample_size=size, border_mode=border, random_shift_factor=0.0)
    start = golden["init_bbox"] if FIRST_BOXES[box] is None else FIRST_BOXES[box]
    tracker = bare(DimpTracker, params)
    tracker.patch_size, tracker.device, tracker.sample_offset = np.full(2, size), "cpu", np.zeros(2)
    tracker.state = TargetState.from_box(start, image.shape[:2], tracker.patch_size, params.search_area_scale)
    assert tracker.state.scale == pytest.approx(float(golden[f"{key}_target_scale"]), rel=1e-6)
    samples = sample_first_frame(image, tracker.state, params, torch.Generator(), "cpu")
    shift = golden[f"{key}_shift0"]
    expected = golden[f"{key}_box"] + [shift[1], shift[0], 0, 0]
    np.testing.assert_allclose(samples.boxes[0], expected, rtol=0, atol=1e-3)
    np.testing.assert_allclose(samples.patches[0, :, ::23, ::23], golden[f"{key}_patch_sub"], rtol=0, atol=1e-3)
    patch, frame = tracker.cut_patch(read_frame(dragonbaby, index + 2))
    np.testing.assert_allclose(frame.pos, golden[f"{key}_search_pos"][0], rtol=0, atol=1e-4)
    assert frame.scale == pytest.approx(float(golden[f"{key}_search_scale"][0]), abs=1e-6)
    np.testing.assert_allclose(patch[0, :, ::23, ::23], golden[f"{key}_search_sub"], rtol=0, atol=1e-3)


@pytest.mark.parametrize("box", FIRST_BOXES)
def test_first_samples_atom(family_dir, family_set, dragonbaby, box):
    golden, key = load(family_dir, "init_samples"), f"{box}_atom"
    image = read_frame(dragonbaby, int(golden["frame_index0"]) + 1)
    params = replace(default.parameters(), image_sample_size=family_set["S_atom"], random_shift_factor=0.0)
    start = golden["init_bbox"] if FIRST_BOXES[box] is None else FIRST_BOXES[box]
    tracker = bare(AtomTracker, params)
    tracker.device, tracker.generator = "cpu", torch.Generator()
    tracker.patch_size = tracker.choose_patch_size()
    searched = np.full(2, params.image_sample_size)
    tracker.state = TargetState.from_box(start, image.shape[:2], searched, params.search_area_scale)
    np.testing.assert_array_equal(tracker.patch_size, golden[f"{key}_img_sample_sz"])
    assert tracker.state.scale == pytest.approx(float(golden[f"{key}_target_scale"]), rel=1e-6)
    np.testing.assert_allclose(tracker.state.pos, golden[f"{key}_pos"], atol=1e-4)
    sigma = 0.25 * np.sqrt(tracker.state.base_size.prod()) / 16
    np.testing.assert_allclose(sigma, golden[f"{key}_sigma"], rtol=0, atol=1e-5)
    samples = tracker.sample_first_frame(image)
    np.testing.assert_allclose(samples.boxes[0], golden[f"{key}_box"], rtol=0, atol=1e-3)
    np.testing.assert_allclose(samples.patches[0, :, ::23, ::23], golden[f"{key}_patch_sub"], rtol=0, atol=1e-3)


def test_search_crop_of_the_first_samples_is_where_the_golden_says(family_dir, family_set, dragonbaby):
    golden = load(family_dir, "init_samples")
    size = np.full(2, family_set["S"])
    image = read_frame(dragonbaby, int(golden["frame_index0"]) + 2)
    for match in numbered(golden, r"(gt|corner|big)_(replicate|inside|inside_major)_search_coord"):
        box = golden["init_bbox"] if FIRST_BOXES[match[1]] is None else FIRST_BOXES[match[1]]
        state = TargetState.from_box(box, image.shape[:2], size, prdimp50.parameters().search_area_scale)
        _, crop = sample_patch(image, state.pos, state.scale, size, border=match[2], max_scale_change=1.5)
        np.testing.assert_allclose(crop.corners, golden[match[0]][0], rtol=0, atol=1e-4, err_msg=match[0])
