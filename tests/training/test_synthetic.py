"""The synthetic videos: deterministic, and their boxes are where the target is drawn."""
from __future__ import annotations

import numpy as np
import pytest

from ltr.dataset.base import DatasetNotFoundError
from ltr.dataset.sprites import SpriteBank, blob_mask
from ltr.dataset.synthetic import SyntheticVideos, draw_layer
from ltr.dataset.synthetic_motion import Poses, folded, smooth_path


@pytest.fixture(scope="module")
def videos() -> SyntheticVideos:
    return SyntheticVideos(SpriteBank(), length=6, seed=3, video_frames=10)


def test_video_depends_on_seed_and_index_alone(videos: SyntheticVideos) -> None:
    again = SyntheticVideos(SpriteBank(), length=50, seed=3, video_frames=10)
    again.frames(0, [1])  # what was asked before must not matter
    assert np.array_equal(videos.frames(2, [4])[0], again.frames(2, [4])[0])
    assert np.array_equal(videos.track(2).boxes, again.track(2).boxes)
    assert not np.array_equal(
        videos.track(2).boxes, SyntheticVideos(SpriteBank(), 6, seed=4, video_frames=10).track(2).boxes
    )


def test_frames_in_any_order_are_the_same(videos: SyntheticVideos) -> None:
    forward = videos.frames(1, [2, 7])
    backward = videos.frames(1, [7, 2])
    assert np.array_equal(forward[0], backward[1]) and np.array_equal(forward[1], backward[0])


@pytest.mark.parametrize("index", range(6))
def test_box_is_tight_around_the_drawn_target(videos: SyntheticVideos, index: int) -> None:
    scene = videos.scene(index)
    layer = scene.layers[scene.target]
    layer.blur = 0.0  # motion blur spreads the target beyond its outline
    width, height = scene.size
    for t in (0, 9):
        canvas = np.zeros((height, width, 3), np.float32)
        alone = np.full_like(canvas, 255)
        draw_layer(canvas, layer, t)
        draw_layer(alone, layer, t)
        opaque = np.abs(alone - canvas)[..., 0] < 127  # where black and white backgrounds look alike
        if opaque.sum() < 60:
            continue
        rows, columns = np.where(opaque)
        x, y, w, h = videos.track(index).boxes[t]
        drawn = np.array([columns.min(), rows.min(), columns.max() + 1, rows.max() + 1])
        assert np.abs(drawn - [x, y, x + w, y + h]).max() <= 3.0


def test_boxes_stay_in_the_frame(videos: SyntheticVideos) -> None:
    for index in range(len(videos)):
        width, height = videos.scene(index).size
        boxes = videos.track(index).boxes
        assert (boxes[:, :2] >= 0).all()
        assert (boxes[:, 0] + boxes[:, 2] <= width + 1e-3).all() and (boxes[:, 1] + boxes[:, 3] <= height + 1e-3).all()


def test_deformation_and_its_inverse_agree() -> None:
    rng = np.random.default_rng(0)
    poses = Poses.random(rng, 5, (320, 240), 60.0)
    poses.wave_height = 0.09
    shape = blob_mask(rng).shape
    grid_x, grid_y = poses.undeform_grid(3, shape, margin=0)
    place = np.array([[30.0, 20.0], [11.0, 40.0]])
    source = np.stack([grid_x[[20, 40], [30, 11]], grid_y[[20, 40], [30, 11]]], axis=1)
    assert np.allclose(poses.deform_points(source, 3, shape), place, atol=1e-3)


def test_paths() -> None:
    path = smooth_path(np.random.default_rng(1), 200, spread=5.0)
    assert path.std() == pytest.approx(5.0, rel=1e-5)
    inside = folded(path * 10, -3.0, 8.0)
    assert inside.min() >= -3 and inside.max() <= 8
    assert np.allclose(folded(np.array([9.0]), -3.0, 8.0), 7.0)  # one beyond the end comes back by one


def test_folder_without_sprites_names_the_remedy(tmp_path) -> None:
    with pytest.raises(DatasetNotFoundError, match="collect_sprites"):
        SpriteBank(tmp_path)
