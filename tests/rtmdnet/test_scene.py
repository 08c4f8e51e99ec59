"""Scenes: where they lie, what they show, and where boxes lie in them."""
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ltr.ops import roi_sample
from pytracking.tracker.rtmdnet.scene import (
    SceneGeometry,
    crop_scenes,
    enclosing_box,
    ensure_visible,
    jittered_scenes,
    regions_in_scenes,
    replica_scenes,
    scenes_of,
)

GEOMETRY = SceneGeometry()


def test_enclosing_box_holds_the_enlarged_samples():
    samples = np.array([[10.0, 20, 30, 40], [50, 10, 20, 20]])
    np.testing.assert_allclose(enclosing_box(samples, 1.2), [7, 8, 65, 56])


@settings(max_examples=50, deadline=None)
@given(st.tuples(st.floats(-900, 900), st.floats(-900, 900), st.floats(1, 400), st.floats(1, 400)))
def test_a_scene_keeps_touching_the_image(box):
    kept = ensure_visible(np.array(box), (240, 320))
    assert (kept[:2] <= [320, 240]).all() and (kept[:2] + kept[2:] >= 0).all() and (kept[2:] > 0).all()


def test_the_target_has_the_object_size_in_its_scene():
    target = np.array([40.0, 60, 50, 20])
    scene = scenes_of(np.array([0.0, 0, 200, 100]), target[2:], GEOMETRY)
    np.testing.assert_allclose(scene.magnification[0] * target[2:], 107)
    assert scene.crop_sizes.tolist() == [[int(200 * 107 / 50), int(100 * 107 / 20)]]


@pytest.mark.parametrize("box", [[0.0, 0, 2000, 8], [0.0, 0, 4, 4]])
def test_extreme_scenes_stay_affordable_and_consistent(box):
    scene = scenes_of(np.array(box), np.array([10.0, 10]), GEOMETRY)
    assert (scene.crop_sizes <= GEOMETRY.largest_side).all() and (scene.crop_sizes >= GEOMETRY.smallest_side).all()
    np.testing.assert_allclose(scene.magnification * scene.boxes[:, 2:], scene.crop_sizes, atol=11)


def test_seven_scenes_in_five_sizes():
    scenes = jittered_scenes(np.array([10.0, 20, 100, 80]), np.array([30.0, 30]), GEOMETRY)
    assert len(scenes) == 7
    assert sorted(len(group) for group in scenes.same_size_groups()) == [1, 1, 1, 1, 3]
    np.testing.assert_allclose(scenes.boxes[1:3, :2], [[6, 20], [10, 16]])


def test_replicas_are_one_batch_of_limited_displacement():
    noise = np.random.default_rng(0).standard_normal((100, 3)) * 5
    target = np.array([100.0, 80, 40, 60])
    scenes = replica_scenes(noise, target, GEOMETRY)
    assert len(scenes.same_size_groups()) == 1 and scenes.crop_sizes[0].tolist() == [192, 192]
    centred = target[:2] + target[2:] / 2 - 0.9 * target[2:]
    assert np.abs(scenes.boxes[:, :2] - centred).max() <= 4 + 1e-9
    scale = scenes.boxes[:, 2:] / (1.8 * target[2:])
    assert scale.min() >= 1.1**-2 - 1e-9 and scale.max() <= 1.1**2 + 1e-9
    np.testing.assert_allclose(scenes.magnification * scale * target[2:], 107)


def test_regions_follow_position_padding_and_receptive_field():
    target = np.array([50.0, 40, 107, 107])
    scene = scenes_of(np.array([0.0, 0, 300, 300]), target[2:], GEOMETRY)
    region = regions_in_scenes(target[None], np.array([0]), scene, GEOMETRY)[0]
    np.testing.assert_allclose(region, [0, 50 - 10.7, 40 - 10.7, 157 + 10.7 - 75, 147 + 10.7 - 75])


def test_a_region_smaller_than_the_receptive_field_keeps_a_pixel():
    scene = scenes_of(np.array([0.0, 0, 300, 300]), np.array([107.0, 107]), GEOMETRY)
    region = regions_in_scenes(np.array([[10.0, 10, 5, 5]]), np.array([0]), scene, GEOMETRY)[0]
    np.testing.assert_allclose(region[3:] - region[1:3], 1)


def test_crops_of_a_batch_equal_the_operator_at_scale_one():
    image = torch.rand(3, 60, 80, generator=torch.Generator().manual_seed(0), dtype=torch.float64) * 255
    boxes = np.array([[10.3, 5.2, 30.1, 40.7], [-8.0, -3.5, 40.0, 30.0], [60.0, 40.0, 30.0, 25.5]])
    crops = crop_scenes(image, boxes, (37, 29))
    for box, crop in zip(boxes, crops, strict=True):
        roi = torch.tensor([[0, box[0], box[1], box[0] + box[2], box[1] + box[3]]], dtype=torch.float64)
        torch.testing.assert_close(crop, roi_sample(image[None], roi, (29, 37), 1.0)[0], rtol=0, atol=1e-9)


def test_outside_of_the_image_is_zero():
    crops = crop_scenes(torch.full((3, 20, 20), 9.0), np.array([[100.0, 100.0, 10.0, 10.0]]), (8, 8))
    assert crops.shape == (1, 3, 8, 8) and not crops.any()
