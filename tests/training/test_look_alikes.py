"""Look-alikes and backdrops: what they change of a crop and what they leave alone."""
from __future__ import annotations

import numpy as np
import pytest

from ltr.data.crops import crop_region, random_window
from ltr.data.look_alikes import NEAREST, with_look_alike

GREY, BOX = np.full((128, 128, 3), 90, np.uint8), np.array([50.0, 40.0, 30.0, 40.0])
RIVAL = np.full((60, 30, 3), 250, np.uint8)


@pytest.mark.parametrize("seed", range(8))
def test_a_look_alike_appears_beside_the_target(seed: int) -> None:
    crop = with_look_alike(GREY, BOX, RIVAL, np.random.default_rng(seed))
    changed = (crop != GREY).any(2)
    rows, columns = np.flatnonzero(changed.any(1)), np.flatnonzero(changed.any(0))
    size = np.array([columns[-1] - columns[0] + 1, rows[-1] - rows[0] + 1])
    assert crop.max() == 250 and (GREY == 90).all()  # the middle is opaque, the given crop is left alone
    assert 0.55 < np.sqrt(size.prod() / (BOX[2] * BOX[3])) < 1.35
    offset = np.abs([columns.mean(), rows.mean()] - BOX[:2] - BOX[2:] / 2) + 1.5  # whole pixels
    assert (offset > NEAREST * (size + BOX[2:]) / 2).any()


def test_a_look_alike_without_room_is_left_out() -> None:
    huge = np.array([4.0, 4.0, 120.0, 120.0])
    assert with_look_alike(GREY, huge, RIVAL, np.random.default_rng(0)) is GREY


def test_a_backdrop_shows_only_outside_the_image() -> None:
    image, backdrop = np.full((40, 40, 3), 200, np.uint8), np.full((30, 50, 3), 10, np.uint8)
    crop, factor = crop_region(image, np.array([0.0, 20.0]), np.array([40.0, 40.0]), 80, backdrop)
    assert factor.tolist() == [2, 2]
    assert (crop[:, :36] == 10).all() and (crop[4:-4, 44:] == 200).all()
    repeated, _ = crop_region(image, np.array([0.0, 20.0]), np.array([40.0, 40.0]), 80)
    assert (repeated == 200).all()


def test_a_random_window_lies_inside_the_image() -> None:
    image = np.arange(20 * 30 * 3, dtype=np.uint16).reshape(20, 30, 3)
    for seed in range(20):
        window = random_window(image, np.random.default_rng(seed))
        assert 10 <= window.shape[0] <= 20 and 15 <= window.shape[1] <= 30
        top, left = np.argwhere(image[..., 0] == window[0, 0, 0])[0]
        assert (image[top : top + window.shape[0], left : left + window.shape[1]] == window).all()
