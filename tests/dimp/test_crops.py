"""Patches lie where each convention and border mode says."""
from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import pytracking
from pytracking.evaluation import get_dataset
from pytracking.features.crop import sample_patch, sample_rectangle

some = settings(max_examples=25, deadline=None)


def ramp(height: int = 60, width: int = 80) -> np.ndarray:
    """An image whose red channel is x and whose green channel is y."""
    y, x = np.mgrid[:height, :width]
    return np.stack([x, y, np.zeros_like(x)], axis=2).astype(np.uint8)


@some
@given(
    st.floats(-20, 80), st.floats(-20, 100), st.floats(0.2, 6), st.integers(8, 40), st.sampled_from(["new", "rls"])
)
def test_a_patch_shows_the_pixels_at_its_coordinates(y, x, scale, out, convention) -> None:
    patch, crop = sample_patch(ramp(), np.array([y, x]), scale, (out, out), convention=convention)
    assert patch.shape == (1, 3, out, out)
    assert torch.isfinite(patch).all() and float(patch.max()) <= 80
    size = crop.bottom_right - crop.top_left
    # The size is rounded to whole subsampled pixels; "new" adds half of one.
    step = max(int(scale - 0.1), 1)
    assert np.all(np.abs(size - scale * out) <= step + 1e-6)
    assert np.all(np.abs(crop.center - np.trunc([y, x])) <= 1.5 * step)
    if step == 1:  # then each patch pixel's colour is its position in the image, if it is inside
        for channel, axis, side in ((0, 1, 80), (1, 0, 60)):
            first, last = int(crop.top_left[axis]), int(crop.bottom_right[axis])
            shown = np.clip(np.arange(first, last), 0, side - 1).astype(np.float64)
            line = patch[0, channel].mean(dim=axis - 1)
            ends = np.array([line[0], line[-1]])
            assert np.all(np.abs(ends - shown[[0, -1]]) <= max(scale, 1))


@some
@given(st.floats(25, 35), st.floats(25, 55), st.floats(0.2, 4), st.integers(4, 12))
def test_an_exact_patch_shows_the_area_between_its_corners(y, x, scale, out) -> None:
    image = ramp().astype(np.float32)  # float, so that averages are not rounded
    size = np.full(2, scale * out)
    patch, crop = sample_rectangle(image, np.array([y, x]), size, np.full(2, out), convention="exact")
    area = max(round(0.8 * scale), 1)
    np.testing.assert_allclose(crop.center, [y, x], atol=0.51)  # the nearest whole pixels
    np.testing.assert_allclose(crop.bottom_right - crop.top_left, size, atol=max(0.51, 2 - size[0]) * area)
    scale = float((crop.bottom_right - crop.top_left)[0]) / out
    middles = (np.arange(out) + 0.5) * scale - 0.5  # of the patch's pixels, from its corner, as indices
    for channel, axis, side in ((0, 1, 80), (1, 0, 60)):
        line, places = patch[0, channel].mean(dim=axis - 1).numpy(), crop.top_left[axis] + middles
        seen = (places > scale) & (places < side - 1 - scale)
        rim = (area - 1) / 2  # half an averaged area, beyond which the patch is constant
        seen &= (places >= crop.top_left[axis] + rim) & (places <= crop.bottom_right[axis] - 1 - rim)
        np.testing.assert_allclose(line[seen], places[seen], atol=1e-3)


@pytest.mark.parametrize("border", ["inside", "inside_major"])
@some
@given(st.floats(-30, 90), st.floats(-30, 110), st.floats(0.5, 6))
def test_exact_patches_stay_in_the_image_too(border: str, y: float, x: float, scale: float) -> None:
    _, crop = sample_patch(ramp(), np.array([y, x]), scale, (20, 20), convention="exact", border=border)
    beyond = np.maximum([-crop.top_left, crop.bottom_right - [60, 80]], 0)  # (2, 2)
    np.testing.assert_allclose(beyond[0], beyond[1], atol=1, err_msg="the overhang must be equal on both sides")
    fits = (beyond <= 1).all(0)
    assert fits.all() if border == "inside" else fits.any()


def test_a_patch_inside_the_image_at_scale_one_is_a_slice() -> None:
    image = np.random.default_rng(0).integers(0, 255, (60, 80, 3), dtype=np.uint8)
    patch, crop = sample_patch(image, np.array([30, 40]), 1.0, (15, 15), convention="rls")
    top, left = crop.top_left.astype(int)
    np.testing.assert_array_equal(patch[0].permute(1, 2, 0), image[top : top + 15, left : left + 15])
    np.testing.assert_array_equal(crop.center, [30, 40])


@pytest.mark.parametrize("border", ["inside", "inside_major"])
@some
@given(st.floats(-30, 90), st.floats(-30, 110), st.floats(0.5, 3))
def test_inside_modes_keep_the_patch_in_the_image(border: str, y: float, x: float, scale: float) -> None:
    _, crop = sample_patch(ramp(), np.array([y, x]), scale, (20, 20), convention="rls", border=border)
    image_size = np.array([60, 80])
    step = max(int(scale - 0.1), 1)  # corners are whole pixels of the subsampled image
    before, after = np.maximum(-crop.top_left, 0), np.maximum(crop.bottom_right - image_size, 0)
    assert np.all(np.abs(before - after) <= 2 * step), "the overhang must be equal on both sides"
    fits = before + after <= 2 * step
    assert fits.all() if border == "inside" else fits.any()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"image": np.zeros((9, 9), np.uint8)}, "image"),
        ({"image": np.zeros((9, 9, 3), np.float32)}, "uint8"),
        ({"convention": "old"}, "convention"),
        ({"border": "mirror"}, "border"),
    ],
)
def test_sample_patch_names_a_bad_argument(arguments: dict, message: str) -> None:
    given_arguments = {"image": ramp()} | arguments
    with pytest.raises(ValueError, match=message):
        sample_patch(given_arguments.pop("image"), np.array([5, 5]), 1.0, (8, 8), **given_arguments)


def test_the_shipped_network_has_no_offset_on_still_targets() -> None:
    tracker, found = pytracking.load("rls_dimp"), []
    for name in ("beetle", "car", "bird", "fish", "lantern"):
        sequence = get_dataset("demo")[name]
        frame, (x, y, w, h) = sequence.load_frame(0), sequence.ground_truth_rect[0]
        # Mirrored frames cancel out the network's bias, so that only errors of the geometry remain.
        for image, left in ((frame, x), (np.ascontiguousarray(frame[:, ::-1]), frame.shape[1] - x - w)):
            tracker.init(image, [left, y, w, h])
            box = np.array([tracker.update(image)["target_bbox"] for _ in range(3)][-1])
            found.append((box[:2] + box[2:] / 2 - [left + w / 2, y + h / 2]) / [w, h])
    assert np.all(np.abs(np.mean(found, axis=0)) < 0.01), np.mean(found, axis=0)  # published convention: 0.017, 0.024
