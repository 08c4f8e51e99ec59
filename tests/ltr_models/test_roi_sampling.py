"""RT-MDNet's RoI sampling against plain loops, and its error messages."""
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ltr.ops import RoISampler, roi_sample
from ltr.ops.roi_sampling import weighted_rows


def by_loops(features, roi, points, scale, kind):
    """One box, point by point, in Python floats."""
    image, x1, y1, x2, y2 = roi
    channels, height, width = features.shape[1:]
    output = torch.zeros(channels, points, points, dtype=features.dtype)

    def axis(start, end, length):
        spacing = max(end * scale - start * scale + 1, 0) / (points - 1 if kind == "plain" else points)
        stride = 1 if kind == "plain" else max(1, math.floor(spacing + 0.5))
        for index in range(points):
            position = index * spacing + start * scale
            if not 0 <= position < length:
                yield []
                continue
            cell = min(math.floor(position), length - 2)
            ratio = position - cell
            if kind == "plain":
                taps = [(cell, 1 - ratio), (cell + 1, ratio)]
            elif kind == "adaptive":
                taps = [(cell + t, 1 - abs(ratio - t) / stride) for t in (0, stride)]
            else:
                taps = [(cell + t, 1 - abs(ratio - t) / stride) for t in range(stride + 1)]
                total = sum(weight for _, weight in taps)
                taps = [(tap, weight / total) for tap, weight in taps]
            yield [(tap, weight) for tap, weight in taps if 0 <= tap < length]

    columns = list(axis(x1, x2, width))
    for i, row_taps in enumerate(axis(y1, y2, height)):
        for j, column_taps in enumerate(columns):
            for y, wy in row_taps:
                for x, wx in column_taps:
                    output[:, i, j] += wy * wx * features[int(image), :, y, x]
    return output


@pytest.mark.parametrize("kind", ["plain", "adaptive", "dense"])
@settings(max_examples=20, deadline=None)
@given(
    x=st.floats(-30, 90), y=st.floats(-30, 90), w=st.floats(0.5, 150), h=st.floats(0.5, 150), points=st.integers(2, 7)
)
def test_agrees_with_loops(kind, x, y, w, h, points):
    features = torch.randn(2, 2, 9, 11, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    roi = [1, x, y, x + w, y + h]
    found = roi_sample(features, torch.tensor([roi], dtype=torch.float64), points, 1 / 8, kind)[0]
    torch.testing.assert_close(found, by_loops(features, roi, points, 1 / 8, kind), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", ["plain", "adaptive", "dense"])
def test_gradient_in_the_features(kind):
    features = torch.randn(1, 2, 6, 7, dtype=torch.float64, generator=torch.Generator().manual_seed(1)).requires_grad_()
    rois = torch.tensor([[0, 3.0, 5.0, 30.0, 41.0], [0, -9.0, 2.0, 70.0, 20.0]], dtype=torch.float64)
    assert torch.autograd.gradcheck(lambda f: roi_sample(f, rois, 4, 1 / 8, kind), (features,))


def test_both_ways_of_gathering_agree():
    generator = torch.Generator().manual_seed(2)
    table = torch.randn(20, 5, generator=generator)
    index, weight = torch.randint(0, 20, (30, 4), generator=generator), torch.randn(30, 4, generator=generator)
    loop = sum(table[index[:, tap]] * weight[:, tap, None] for tap in range(4))
    torch.testing.assert_close(weighted_rows(table, index, weight), loop)
    half = weighted_rows(table.half(), index, weight.half())
    assert half.dtype == torch.float16
    torch.testing.assert_close(half.float(), loop, rtol=2e-2, atol=2e-2)


def test_no_boxes():
    for kind in ("plain", "adaptive", "dense"):
        assert roi_sample(torch.zeros(1, 3, 5, 5), torch.zeros(0, 5), 7, 1 / 8, kind).shape == (0, 3, 7, 7)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: roi_sample(torch.zeros(1, 3, 5, 5), torch.zeros(2, 5), 7, 1 / 8, "best"), "best"),
        (lambda: roi_sample(torch.zeros(3, 5, 5), torch.zeros(2, 5), 7, 1 / 8), r"\(N, 5\)"),
        (lambda: roi_sample(torch.zeros(1, 3, 5, 5), torch.ones(2, 5), 7, 1 / 8), "images 1 to 1"),
        (lambda: RoISampler(3, 1 / 8, pooling="median"), "median"),
        (lambda: RoISampler(5, 1 / 8, pooling="max"), "size=5"),
    ],
)
def test_errors_name_the_argument(call, message):
    with pytest.raises(ValueError, match=message):
        call()
