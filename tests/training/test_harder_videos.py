"""The harder versions of held-out videos that settings are chosen by (benchmarks/harder_videos.py)."""
from __future__ import annotations

import numpy as np
import pytest

from benchmarks.harder_videos import KINDS


@pytest.fixture
def video():
    """A target of value 255 that walks over a dark, striped ground."""
    frames, masks, boxes = [], [], []
    for t in range(60):
        mask = np.zeros((96, 160), bool)
        mask[40:70, 50 + t // 2 : 80 + t // 2] = True
        frame = np.zeros((96, 160, 3), np.uint8) + (np.arange(160, dtype=np.uint8) % 7 * 9)[:, None]
        frame[mask] = 255
        frames.append(frame)
        masks.append(mask)
        boxes.append([50 + t // 2, 40, 30, 30])
    return frames, masks, np.array(boxes, float)


def test_every_kind_keeps_the_first_frame_and_one_box_per_frame(video) -> None:
    for kind, make in KINDS.items():
        frames, _, boxes = make(*video)
        assert len(frames) == len(boxes), kind
        if kind != "small":
            np.testing.assert_array_equal(frames[0], video[0][0])
            np.testing.assert_array_equal(boxes[0], video[2][0])
    assert len(KINDS["fast"](*video)[0]) == 20


def test_a_small_target_has_about_25_pixels(video) -> None:
    frames, _, boxes = KINDS["small"](*video)
    part = frames[0].shape[1] / 160
    assert boxes[0, 2] == pytest.approx(25, abs=0.5)
    np.testing.assert_allclose(boxes[0], video[2][0] * part, atol=0.5)


def test_a_covered_target_is_hidden_twice_and_seen_in_between(video) -> None:
    frames, masks, _ = KINDS["covered"](*video)
    seen = np.array([(frame[mask] == 255).all(1).mean() for frame, mask in zip(frames, masks, strict=True)])
    assert seen[20] < 0.25 and seen[40] < 0.25, "the pole is in front of the target"
    assert seen[0] == seen[30] == seen[-1] == 1
    assert (video[0][20] == 255).any(), "the frames that were given stay as they are"


def test_a_look_alike_passes_behind_the_target(video) -> None:
    frames, masks, _ = KINDS["look_alike"](*video)
    for frame, mask in zip(frames, masks, strict=True):
        assert (frame[mask] == 255).all()
    copies = [(frame[~mask] == 255).all(1).sum() for frame, mask in zip(frames, masks, strict=True)]
    assert copies[0] == 0 and max(copies) > 600 and copies[20] < 100, "beside the target, then behind it"
