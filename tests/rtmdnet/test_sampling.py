"""Random boxes: ranges, determinism, and several boxes at once."""
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytracking.tracker.rtmdnet.sampling import (
    SMALLEST_SIDE,
    SampleDistribution,
    draw_around,
    draw_around_each,
    overlap,
)

IMAGE_SIZE = (240, 320)  # height, width
boxes = st.tuples(
    st.floats(-20, 300), st.floats(-20, 220), st.floats(6, 200), st.floats(6, 150)
).map(np.array)  # fmt: skip
distributions = st.builds(
    SampleDistribution,
    kind=st.sampled_from(["gaussian", "uniform", "whole"]),
    translation=st.floats(0, 2),
    scale=st.floats(1, 2),
    aspect=st.none() | st.floats(1, 1.5),
    inside=st.booleans(),
)


@settings(max_examples=60, deadline=None)
@given(boxes, distributions, st.integers(0, 2**31))
def test_proposals_respect_the_image(box, distribution, seed):
    samples = distribution.propose(np.random.default_rng(seed), box[None], 20, IMAGE_SIZE)[0]
    assert samples.shape == (20, 4) and np.isfinite(samples).all()
    extent = np.array(IMAGE_SIZE[::-1])
    assert (samples[:, 2:] >= SMALLEST_SIDE).all() and (samples[:, 2:] <= extent - SMALLEST_SIDE).all()
    centre = samples[:, :2] + samples[:, 2:] / 2
    assert (centre >= -1e-9).all() and (centre <= extent + 1e-9).all()
    if distribution.inside:
        assert (samples[:, :2] >= -1e-9).all() and (samples[:, :2] + samples[:, 2:] <= extent - 1 + 1e-9).all()


@settings(max_examples=40, deadline=None)
@given(boxes, st.integers(0, 2**31))
def test_accepted_samples_lie_in_the_ranges(box, seed):
    distribution = SampleDistribution(kind="uniform", translation=0.3, scale=1.5, aspect=1.1)
    samples = draw_around(
        np.random.default_rng(seed), distribution, box, 15, IMAGE_SIZE, overlap_range=(0.6, 1.0), area_range=(1.0, 2.0)
    )
    assert len(samples) <= 15
    iou, ratio = overlap(samples, box), samples[:, 2:].prod(axis=1) / box[2:].prod()
    assert ((iou >= 0.6) & (iou <= 1)).all() and ((ratio >= 1) & (ratio <= 2)).all()


def test_one_seed_one_set_of_boxes():
    distribution = SampleDistribution(kind="gaussian", translation=0.6, scale=1.05, inside=True)
    box = np.array([100.0, 80, 40, 30])
    first, again, other = (
        draw_around(np.random.default_rng(seed), distribution, box, 50, IMAGE_SIZE) for seed in (3, 3, 4)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_several_boxes_get_their_own_samples():
    targets = np.array([[20.0, 30, 40, 30], [200, 100, 30, 60], [120, 90, 25, 25]])
    distribution = SampleDistribution(kind="gaussian", translation=0.1, scale=1.2)
    samples, owner = draw_around_each(
        np.random.default_rng(0), distribution, targets, 30, IMAGE_SIZE, overlap_range=(0.7, 1)
    )
    np.testing.assert_array_equal(owner, np.repeat([0, 1, 2], 30))
    assert (overlap(samples, targets[owner]) >= 0.7).all()


def test_no_background_gives_no_negatives_instead_of_an_endless_search():
    whole = np.array([0.0, 0, 320, 240])
    distribution = SampleDistribution(kind="uniform", translation=0.01, scale=1.01)
    samples = draw_around(np.random.default_rng(0), distribution, whole, 10, IMAGE_SIZE, overlap_range=(0, 0.3))
    assert samples.shape == (0, 4)


def test_overlap_of_known_boxes():
    first = np.array([[0.0, 0, 10, 10], [0, 0, 10, 10], [0, 0, 10, 10]])
    second = np.array([[0.0, 0, 10, 10], [5, 0, 10, 10], [20, 20, 5, 5]])
    assert overlap(first, second) == pytest.approx([1, 50 / 150, 0])
