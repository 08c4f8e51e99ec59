"""Precise RoI pooling: gradients, awkward boxes, and a brute-force integration."""
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional

from ltr.ops import pool_boxes
from tests.ltr_models.rois import precise_roi_pool

AWKWARD = torch.tensor(
    [
        [0, 3.3, 4.1, 20.7, 17.9],  # inside
        [1, -9.2, -7.7, 11.3, 9.4],  # leaves at the top left
        [1, 17.7, 21.2, 61.3, 71.9],  # leaves at the bottom right
        [0, 11.1, 12.3, 11.9, 12.8],  # smaller than a cell
        [0, 90.0, 90.0, 110.0, 104.0],  # beside the map
        [1, 5.0, 5.0, 5.0, 9.0],  # empty
        [0, 9.0, 9.0, 4.0, 3.0],  # inside out
    ],
    dtype=torch.float64,
)


def midpoint_oracle(features: torch.Tensor, rois: torch.Tensor, bins: int, scale: float, fine: int = 60):
    """Mean of bilinear samples on a fine grid in each bin (features padded by zeros, as the operator defines)."""
    pad = 40
    padded = functional.pad(features, (pad,) * 4)
    height, width = padded.shape[-2:]
    output = features.new_zeros(len(rois), features.shape[1], bins, bins)
    for row, (image, *corners) in enumerate(rois.tolist()):
        x1, y1, x2, y2 = (c * scale for c in corners)
        if x2 <= x1 or y2 <= y1:
            continue
        steps = (torch.arange(bins * fine, dtype=features.dtype) + 0.5) / (bins * fine)
        xs, ys = x1 + (x2 - x1) * steps + pad, y1 + (y2 - y1) * steps + pad
        grid = torch.stack(torch.meshgrid(ys, xs, indexing="ij")[::-1], -1)
        grid = 2 * grid / torch.tensor([width - 1, height - 1], dtype=features.dtype) - 1
        samples = functional.grid_sample(padded[int(image)][None], grid[None], align_corners=True)
        output[row] = functional.avg_pool2d(samples, fine)[0]
    return output


def random_features(seed: int, images: int = 2, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    return torch.randn(images, 3, 7, 8, dtype=dtype, generator=torch.Generator().manual_seed(seed))


def test_agrees_with_brute_force():
    features = random_features(0)
    expected = midpoint_oracle(features, AWKWARD, 3, 1 / 8)
    torch.testing.assert_close(precise_roi_pool(features, AWKWARD, 3, 1 / 8), expected, atol=2e-3, rtol=0)


def test_gradcheck_in_features_and_boxes():
    features = random_features(1).requires_grad_()
    corners = AWKWARD[:5, 1:].clone().requires_grad_()
    index = AWKWARD[:5, :1]
    assert torch.autograd.gradcheck(
        lambda f, c: precise_roi_pool(f, torch.cat([index, c], 1), (2, 3), 1 / 8), (features, corners)
    )


def test_gradcheck_on_the_grid():
    """Edges exactly on cell centres: the pooled value is smooth there and so must its gradient be."""
    features = random_features(2, images=1).requires_grad_()
    corners = torch.tensor([[[8.0, 16.0, 40.0, 48.0], [0.0, 0.0, 56.0, 48.0]]], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda f, c: pool_boxes(f, c, 2, 1 / 8), (features, corners), eps=1e-7, atol=1e-5)


def test_empty_and_inverted_boxes_give_zero_value_and_gradient():
    features = random_features(3).requires_grad_()
    rois = AWKWARD[5:].clone().requires_grad_()
    output = precise_roi_pool(features, rois, 4, 1 / 8)
    output.sum().backward()
    assert not output.any() and not features.grad.any() and not rois.grad.any()


def test_no_boxes():
    assert precise_roi_pool(random_features(4), torch.zeros(0, 5), 3, 1 / 8).shape == (0, 3, 3, 3)
    assert pool_boxes(random_features(4), torch.zeros(2, 0, 4), 3, 1 / 8).shape == (2, 0, 3, 3, 3)


def test_order_of_rois_is_kept():
    features = random_features(5)
    shuffled = AWKWARD[[4, 0, 2, 1, 3]]
    alone = torch.cat([precise_roi_pool(features, roi[None], 3, 1 / 8) for roi in shuffled])
    torch.testing.assert_close(precise_roi_pool(features, shuffled, 3, 1 / 8), alone)


def test_the_memory_format_does_not_matter():
    features = random_features(6)
    pooled = precise_roi_pool(features.contiguous(memory_format=torch.channels_last), AWKWARD, 3, 1 / 8)
    torch.testing.assert_close(pooled, precise_roi_pool(features, AWKWARD, 3, 1 / 8))


@settings(max_examples=40, deadline=None)
@given(
    x=st.floats(-20, 60), y=st.floats(-20, 60), w=st.floats(0.01, 80), h=st.floats(0.01, 80), bins=st.integers(1, 5)
)
def test_total_mass_is_kept_whatever_the_bins(x, y, w, h, bins):
    """The mean over the bins is the mean over the box, however many bins there are."""
    features = random_features(8, images=1)
    box = torch.tensor([[[x, y, x + w, y + h]]], dtype=torch.float64)
    whole = pool_boxes(features, box, 1, 1 / 8)[..., 0, 0]
    torch.testing.assert_close(pool_boxes(features, box, bins, 1 / 8).mean((-1, -2)), whole, atol=1e-9, rtol=1e-9)
