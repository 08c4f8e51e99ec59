"""Losses against direct computations, crops against geometry, samplers against their promises."""
from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ltr.actors.dimp import cut_windows
from ltr.data.augmentation import Augmentation
from ltr.data.crops import CropGeometry, Jitter, box_in_crop, crop_region, jittered_region
from ltr.data.mdnet_examples import cut_scene, draw_negative, draw_positive
from ltr.data.sampler import ExampleSampler
from ltr.dataset.base import Track, VideoDataset
from ltr.losses.box_density import DEVIATIONS, LABEL_DEVIATION, density_loss, draw_boxes, log_gaussian
from ltr.losses.classification import gaussian_labels, hinged_square_loss
from ltr.losses.multi_domain import binary_loss, instance_embedding_loss
from ltr.losses.overlap import overlap_loss, sample_proposals
from ltr.overlap import overlap


def test_label_is_one_at_the_centre_and_falls_as_a_gaussian() -> None:
    boxes = torch.tensor([[64.0 - 10, 96.0 - 20, 20.0, 40.0]], dtype=torch.float64)  # centre (64, 96) = cell (4, 6)
    label = gaussian_labels(boxes, 17, 16, sigma=0.9)[0]
    assert label[6, 4] == 1
    assert label[6, 6].item() == pytest.approx(np.exp(-0.5 * (2 / 0.9) ** 2))
    assert label[7, 5].item() == pytest.approx(np.exp(-0.5 * 2 / 0.81))


def test_hinge_forgives_negative_scores_on_background_only() -> None:
    labels = torch.tensor([[1.0, 0.0, 0.0, 0.5]])
    scores = torch.tensor([[0.8, -3.0, 0.2, -1.0]])
    expected = (0.2**2 + 0.0 + 0.2**2 + 1.5**2) / 4
    assert hinged_square_loss(scores, labels).item() == pytest.approx(expected, rel=1e-6)


def test_overlap_of_known_boxes() -> None:
    a = torch.tensor([0.0, 0.0, 10.0, 10.0])
    assert overlap(a, torch.tensor([5.0, 0.0, 10.0, 10.0])).item() == pytest.approx(50 / 150)
    assert overlap(a, torch.tensor([20.0, 0.0, 5.0, 5.0])).item() == 0


def test_proposals_overlap_enough_and_cover_all_qualities() -> None:
    torch.manual_seed(0)
    boxes = torch.tensor([[30.0, 40.0, 50.0, 20.0]]).expand(64, 4)
    proposals = sample_proposals(boxes, 16)
    drawn = overlap(proposals, boxes[:, None])
    assert drawn.min() >= 0.1
    assert drawn.min() < 0.4 and drawn.max() > 0.95


def test_overlap_loss_is_zero_for_a_perfect_prediction() -> None:
    torch.manual_seed(1)
    boxes = torch.tensor([[30.0, 40.0, 50.0, 20.0]])
    proposals = sample_proposals(boxes, 5)
    truth = 2 * overlap(proposals, boxes[:, None]) - 1
    assert overlap_loss(truth, proposals, boxes) == 0
    assert overlap_loss(truth + 0.1, proposals, boxes).item() == pytest.approx(0.01, rel=1e-4)


def test_density_loss_is_least_for_the_label_itself() -> None:
    torch.manual_seed(1)
    truth = torch.tensor([[30.0, 40.0, 50.0, 20.0]], dtype=torch.float64)
    boxes, distance = draw_boxes(truth, 20000)
    distance = distance.double()
    centre = boxes[..., :2] + boxes[..., 2:] / 2
    again = torch.cat([(centre - torch.tensor([55.0, 50.0])) / truth[:, None, 2:], boxes[..., 2:].log()], -1)
    assert torch.allclose(again[..., :2], distance[..., :2], atol=1e-5)
    assert torch.allclose(again[..., 2:] - truth[:, None, 2:].log(), distance[..., 2:], atol=1e-5)

    def loss_of(deviation: float, shift: float = 0.0) -> float:
        return float(density_loss(log_gaussian(distance - shift, deviation), distance))

    best = loss_of(LABEL_DEVIATION)
    entropy = 4 * (0.5 + np.log(LABEL_DEVIATION * np.sqrt(2 * np.pi)))  # the cross entropy of a density with itself
    assert best == pytest.approx(entropy, abs=0.1)
    assert all(loss_of(d) > best + 0.1 for d in (LABEL_DEVIATION / 2, LABEL_DEVIATION * 2))
    assert loss_of(LABEL_DEVIATION, shift=0.05) > best + 0.5
    at_the_middle = -4 * np.log(DEVIATIONS[0] * np.sqrt(2 * np.pi))
    assert float(log_gaussian(torch.zeros(1, 4), DEVIATIONS[0])) == pytest.approx(at_the_middle)


def test_multi_domain_losses_against_logarithms() -> None:
    good, bad = torch.tensor([[0.0, 2.0]]), torch.tensor([[1.0, 0.0]])
    expected = (np.log(1 + np.exp(-2)) + np.log(1 + np.exp(-1))) / 2
    assert binary_loss(good, bad).item() == pytest.approx(expected, rel=1e-5)
    scores = torch.tensor([[1.0, 3.0, 0.0]])
    expected = -3 + np.log(np.exp([1.0, 3.0, 0.0]).sum())
    assert instance_embedding_loss(scores, 1).item() == pytest.approx(expected, rel=1e-5)


@settings(max_examples=40, deadline=None)
@given(
    st.floats(20, 120), st.floats(20, 80), st.floats(6, 90), st.floats(6, 90), st.integers(0, 10**6)
)
def test_crop_shows_the_target_where_its_box_says(x: float, y: float, w: float, h: float, seed: int) -> None:
    image = np.zeros((200, 240, 3), np.uint8)
    x, y, w, h = (float(round(v)) for v in (x, y, w, h))
    image[int(y) : int(y + h), int(x) : int(x + w)] = 255
    geometry = CropGeometry(output_side=128, search_area=4.0)
    box = np.array([x, y, w, h])
    centre, side = jittered_region(box, geometry, Jitter(centre=1.0, scale=0.2), np.random.default_rng(seed))
    crop, factor = crop_region(image, centre, side, 128)
    rows, columns = np.where(crop[..., 0] > 127)
    left, top, width, height = box_in_crop(box, centre, factor, 128)
    clipped = np.clip([left, top, left + width, top + height], 0, 128)
    drawn = np.array([columns.min(), rows.min(), columns.max() + 1, rows.max() + 1])
    assert np.abs(clipped - drawn).max() <= 1.5


def test_target_centre_stays_in_the_region() -> None:
    rng = np.random.default_rng(0)
    box = np.array([50.0, 60.0, 30.0, 10.0])
    geometry, jitter = CropGeometry(output_side=64, search_area=3), Jitter(centre=9, scale=0.5)
    for _ in range(200):
        centre, side = jittered_region(box, geometry, jitter, rng)
        assert (np.abs(box[:2] + box[2:] / 2 - centre) <= side / 2).all()


def test_mirroring_moves_the_box_with_the_picture() -> None:
    crop = np.zeros((32, 32, 3), np.uint8)
    crop[10:14, 4:9] = 200
    augmentation = Augmentation(brightness=0.0)
    mirrored, box = augmentation.apply(crop, np.array([4, 10, 5, 4.0]), (True, False), np.random.default_rng(0))
    x, y, w, h = box.astype(int)
    assert (mirrored[y : y + h, x : x + w] == 200).all() and mirrored.sum() == crop.sum()


class CountingVideos(VideoDataset):
    """Twenty frames, the target hidden in frames 5 to 9."""

    def __len__(self) -> int:
        return 1

    def track(self, index: int) -> Track:
        visible = np.ones(20, bool)
        visible[5:10] = False
        return Track(np.tile(np.array([1, 1, 8, 8], np.float32), (20, 1)), visible)

    def frames(self, index: int, frame_ids: list[int]) -> list[np.ndarray]:
        return [np.zeros((16, 16, 3), np.uint8) for _ in frame_ids]


def test_sampler_takes_visible_frames_in_order_within_the_gap() -> None:
    sampler = ExampleSampler([CountingVideos()], [1.0], max_gap=7)
    rng = np.random.default_rng(0)
    for _ in range(100):
        choice = sampler.draw(rng)
        frames = choice.train_ids + choice.test_ids
        assert not set(frames) & set(range(5, 10))
        assert max(choice.train_ids) < min(choice.test_ids)
        assert max(frames) - min(frames) <= 14
    with pytest.raises(ValueError, match="proportions"):
        ExampleSampler([CountingVideos()], [])


def test_windows_keep_boxes_on_their_features() -> None:
    torch.manual_seed(0)
    coarse = torch.arange(16 * 16).float().view(1, 1, 16, 16).expand(2, 1, 16, 16)
    fine = torch.arange(32 * 32).float().view(1, 1, 32, 32).expand(2, 1, 32, 32)
    boxes = torch.tensor([[100.0, 120.0, 40.0, 30.0], [-10.0, 230.0, 20.0, 20.0]])
    windows, moved = cut_windows({"layer2": fine, "layer3": coarse}, boxes, 160)
    assert windows["layer2"].shape == (2, 1, 20, 20) and windows["layer3"].shape == (2, 1, 10, 10)
    shift = ((boxes - moved)[:, :2] / 16).long()
    for i in range(2):
        x, y = shift[i].tolist()
        assert windows["layer3"][i, 0, 0, 0] == coarse[i, 0, y, x]
        assert windows["layer2"][i, 0, 0, 0] == fine[i, 0, 2 * y, 2 * x]
    assert torch.equal(boxes[:, 2:], moved[:, 2:])


def test_mdnet_boxes_and_scene() -> None:
    rng = np.random.default_rng(0)
    target = np.array([100.0, 80.0, 40.0, 60.0])
    positive, negative = draw_positive(target, 30, rng), draw_negative(target, 60, rng)
    assert overlap(positive, target).min() >= 0.7 and overlap(negative, target).max() <= 0.5
    image = np.full((240, 320, 3), 128, np.uint8)
    image[80:140, 100:140] = 255
    boxes = np.concatenate([target[None], negative])
    scene, regions = cut_scene(image, target, boxes, receptive_field=75.0)
    rows, columns = np.where(scene[0].numpy() > 60)
    assert columns.max() - columns.min() + 1 == pytest.approx(107, abs=3)
    assert rows.max() - rows.min() + 1 == pytest.approx(107, abs=3)
    x1, y1, x2, y2 = regions[0].tolist()
    assert x2 - x1 == pytest.approx(107 * 1.2 - 75, abs=1) and y2 - y1 == pytest.approx(107 * 1.2 - 75, abs=1)
    assert columns.min() - x1 == pytest.approx(107 * 0.1, abs=2)
