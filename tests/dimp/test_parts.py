"""Properties, limits and errors of the tracker's parts that the golden tests do not cover."""
from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ltr.models.inference import prepare_for_inference
from ltr.models.tracking.dimpnet import dimpnet50, dimpnet_mobile
from pytracking.features.augmentation import Augmentation, crop_middle, dropout_copies, identity
from pytracking.tracker.dimp.first_frame import plan_augmentations, sample_first_frame
from pytracking.tracker.dimp.geometry import PatchFrame, TargetState
from pytracking.tracker.dimp.params import FEW_SAMPLES, MANY_ROTATIONS, AugmentationParams, DimpParams
from pytracking.tracker.dimp.refinement import best_mean, climb, damped, jittered_boxes
from pytracking.tracker.dimp.sample_memory import SampleMemory

some = settings(max_examples=25, deadline=None)


@given(st.integers(-5, 5), st.integers(-5, 5))
def test_a_shift_moves_the_target_by_that_much(y: int, x: int) -> None:
    wide = torch.zeros(1, 3, 40, 40)
    wide[:, :, 20, 18] = 1
    patch = Augmentation(identity, (y, x))(wide, (20, 20))
    assert patch.shape == (1, 3, 20, 20)
    assert patch[0, 0].nonzero().tolist() == [[10 + y, 8 + x]]
    assert crop_middle(wide, (20, 20)).sum() == 3


def test_dropout_copies_drop_whole_channels_and_keep_the_mean() -> None:
    features = torch.ones(1, 4000, 2, 2)
    copies = dropout_copies(features, 3, 0.2, torch.Generator().manual_seed(0))
    assert copies.shape == (3, 4000, 2, 2)
    assert torch.equal(copies.amin((2, 3)), copies.amax((2, 3)))
    assert sorted(copies.unique().tolist()) == [0.0, 1.25]
    assert abs(float(copies.mean()) - 1) < 0.02
    assert not torch.equal(copies[0], copies[1])


@pytest.mark.parametrize(
    ("params", "pictures", "total"), [(AugmentationParams(), 13, 15), (MANY_ROTATIONS, 23, 30), (FEW_SAMPLES, 10, 13)]
)
def test_the_first_frame_gives_as_many_samples_as_published(params, pictures: int, total: int) -> None:
    plan = plan_augmentations(params, np.array([288, 288]), 1 / 3, torch.Generator().manual_seed(0))
    assert len(plan) == pictures
    assert pictures + params.dropout_copies == total
    assert plan[0] == Augmentation(identity)
    assert all(abs(n) <= 48 for each in plan[5:] for n in each.shift) or params is FEW_SAMPLES


@pytest.mark.parametrize("border", ["replicate", "inside", "inside_major"])
def test_first_frame_boxes_lie_on_the_target(border: str) -> None:
    image = np.zeros((60, 80, 3), np.uint8)
    image[10:20, 8:20] = 255
    params = DimpParams(image_sample_size=48, border_mode=border, random_shift_factor=0.1)
    state = TargetState.from_box([8, 10, 12, 10], image.shape[:2], np.array([48, 48]), 4.0)
    samples = sample_first_frame(image, state, params, torch.Generator().manual_seed(1), torch.device("cpu"))
    for patch, box in zip(samples.patches[:5], samples.boxes[:5], strict=True):  # identity and shifts
        x, y, w, h = box.tolist()
        rows = patch[0, max(round(y), 0) : max(round(y + h), 0), max(round(x), 0) : max(round(x + w), 0)]
        if rows.numel() > 20:
            assert float(rows.mean()) > 180


@some
@given(st.floats(1, 200), st.floats(1, 200), st.floats(2, 90), st.floats(2, 90), st.floats(0.2, 4))
def test_a_box_returns_from_the_patch_half_a_patch_pixel_off(y, x, h, w, scale) -> None:
    frame = PatchFrame(np.array([50.0, 60.0]), scale, np.array([288, 288]))
    pos, size = frame.target_in_frame(frame.box_in_patch(np.array([y, x]), np.array([h, w])))
    np.testing.assert_allclose(pos - [y, x], 0.5 * scale, atol=1e-9)
    np.testing.assert_allclose(size, [h, w], atol=1e-9)


@some
@given(st.floats(1, 200), st.floats(1, 200), st.floats(2, 90), st.floats(2, 90), st.floats(0.2, 4))
def test_a_box_returns_from_an_exact_patch_unchanged(y, x, h, w, scale) -> None:
    frame = PatchFrame(np.array([50.0, 60.0]), scale, np.array([208, 208]), exact=True)
    pos, size = frame.target_in_frame(frame.box_in_patch(np.array([y, x]), np.array([h, w])))
    np.testing.assert_allclose([*pos, *size], [y, x, h, w], atol=1e-9)


@pytest.mark.parametrize("box", [[0, 0, 0, 5], [0, 0, 5, -1], [np.nan, 0, 5, 5]])
def test_a_box_without_area_is_refused(box: list[float]) -> None:
    with pytest.raises(ValueError, match="init_bbox"):
        TargetState.from_box(box, (60, 80), np.array([48, 48]), 5.0)


@some
@given(
    st.lists(st.one_of(st.none(), st.floats(0.001, 0.3)), min_size=1, max_size=30),
    st.integers(1, 5),
    st.integers(6, 9),
    st.sampled_from([0.0, 0.25, 0.5]),
)
def test_sample_weights_stay_close_to_a_distribution(rates, num_init: int, size: int, minimum: float) -> None:
    memory = SampleMemory(
        torch.arange(num_init).view(-1, 1, 1, 1).float(),
        torch.zeros(num_init, 4),
        size=size,
        learning_rate=0.01,
        init_samples_minimum_weight=minimum,
    )
    for step, rate in enumerate(rates):
        index = memory.add(torch.full((1, 1, 1, 1), 100.0 + step), torch.full((4,), float(step)), rate)
        assert float(memory.weights.min()) >= 0
        assert 1 - 1e-5 < float(memory.weights.sum()) < minimum + 1 / (1 + minimum) + 1e-5  # 1 without a minimum
        assert float(memory.features[index]) == 100 + step
        if minimum:
            assert float(memory.weights[:num_init].sum()) >= minimum - 1e-5
            assert memory.features[:num_init].flatten().tolist() == list(range(num_init))
    assert memory.num_stored == min(size, num_init + len(rates))


def test_a_memory_without_room_says_so() -> None:
    memory = SampleMemory(
        torch.zeros(4, 1, 1, 1), torch.zeros(4, 4), size=3, learning_rate=0.1, init_samples_minimum_weight=0.25
    )
    with pytest.raises(ValueError, match="larger"):
        memory.add(torch.zeros(1, 1, 1, 1), torch.zeros(4))


class Hill:
    """Replaces an IoU-Net; its overlap peaks at one box."""

    def __init__(self, top: list[float]) -> None:
        self.top = np.array(top)

    def values_and_gradient(self, boxes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        away = boxes - self.top
        return 1 - np.square(away).sum(1) / 1e4, -2 * away / 1e4


def test_climbing_goes_uphill_and_reports_the_overlap_before_the_last_move() -> None:
    hill = Hill([30, 40, 20, 10])
    start = np.array([[20.0, 50, 30, 15], [35.0, 35, 15, 12]])
    boxes, overlaps = climb(start, hill, 5, 1.0, 1.0)
    before, _ = climb(start, hill, 4, 1.0, 1.0)
    np.testing.assert_allclose(overlaps, hill.values_and_gradient(before)[0])
    assert np.all(hill.values_and_gradient(boxes)[0] > hill.values_and_gradient(start)[0])
    with pytest.raises(ValueError, match="box_refinement_iter"):
        climb(start, hill, 0, 1.0, 1.0)


class EdgeHill:
    """An overlap that falls with the squared distance of each edge, so all edges matter alike."""

    def __init__(self, top: list[float]) -> None:
        self.top = np.array(top)

    def values_and_gradient(self, boxes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        first, last = boxes[:, :2] - self.top[:2], boxes[:, :2] + boxes[:, 2:] - self.top[:2] - self.top[2:]
        gradient = np.concatenate([-2 * (first + last), -2 * last], 1) / 1e4
        return 1 - (np.square(first) + np.square(last)).sum(1) / 1e4, gradient


def test_steps_of_edges_shrink_a_box_around_its_centre() -> None:
    hill, start = EdgeHill([30, 40, 20, 10]), np.array([[20.0, 30, 40, 30]])
    boxes, _ = climb(start, hill, 8, 10.0, 1.0, "edges")
    centre = boxes[:, :2] + boxes[:, 2:] / 2
    np.testing.assert_allclose(centre, [[40.0, 45.0]])
    assert np.all(boxes[:, 2:] < start[:, 2:]) and np.all(boxes[:, 2:] > hill.top[2:])
    other, _ = climb(start, hill, 1, 10.0, 1.0)
    assert np.all(np.abs(other[:, :2] + other[:, 2:] / 2 - [40.0, 45.0]) > 0.1)


def test_best_mean_leaves_out_elongated_boxes() -> None:
    boxes = np.array([[0, 0, 10, 10], [2, 2, 10, 10], [9, 9, 70, 10], [5, 5, 10, 12]], dtype=float)
    overlaps = np.array([0.5, 0.6, 0.9, 0.1])
    np.testing.assert_allclose(best_mean(boxes, overlaps, 2, 6.0), [1, 1, 10, 10])
    assert best_mean(boxes[2:3], overlaps[2:3], 2, 6.0) is None


def test_damping_applies_fractions_of_the_change_of_centre_and_size() -> None:
    box, refined = np.array([10.0, 20, 40, 30]), np.array([30.0, 10, 20, 50])
    np.testing.assert_allclose(damped(box, refined, 0.5), [20, 15, 30, 40])  # one fraction: every number half way
    np.testing.assert_allclose(damped(box, refined, (1.0, 0.0)), [20, 20, 40, 30])  # moved only
    np.testing.assert_allclose(damped(box, refined, (0.0, 0.5)), [15, 15, 30, 40])  # grown around (30, 35)
    np.testing.assert_allclose(damped(box, refined, (1.0, 0.5), trust=0.5), [17.5, 17.5, 35, 35])
    assert damped(box, refined, 1.0) is refined


@given(st.integers(0, 1000))
def test_random_boxes_surround_the_given_one(seed: int) -> None:
    box = np.array([10, 20, 30, 40], np.float32)
    boxes = jittered_boxes(box, 9, 0.1, 0.5, torch.Generator().manual_seed(seed))
    assert boxes.shape == (10, 4)
    assert np.array_equal(boxes[0], box)
    assert float(boxes[:, 2:].min()) >= 10 - 1e-5
    centers = boxes[:, :2] + boxes[:, 2:] / 2
    side = float(np.sqrt(box[2:].prod()))
    assert float(np.abs(centers - centers[0]).max()) <= 0.05 * side + 1e-4
    assert np.array_equal(boxes, jittered_boxes(box, 9, 0.1, 0.5, torch.Generator().manual_seed(seed)))


def test_wide_classifier_convolution_keeps_the_plain_layout_and_its_values() -> None:
    torch.manual_seed(0)
    plain = dimpnet50(filter_size=4, clf_feat_blocks=0, out_feature_dim=16).eval()
    prepared = prepare_for_inference(copy.deepcopy(plain))
    small = prepare_for_inference(dimpnet_mobile(width=0.35, out_feature_dim=8).eval())
    assert prepared.plain_classifier and not small.plain_classifier
    assert prepared.classifier.feature_extractor[0].weight.is_contiguous()
    assert small.classifier.feature_extractor[0].weight.is_contiguous(memory_format=torch.channels_last)
    maps = {"layer3": torch.randn(1, 1024, 6, 6).contiguous(memory_format=torch.channels_last)}
    with torch.no_grad():
        features = prepared.classification_features(maps)
        torch.testing.assert_close(features, plain.classification_features(maps))
    assert features.is_contiguous()
