"""Convolutions with fewer multiplications against the direct ones."""
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from ltr.models.tracking.mdnet import mdnet
from ltr.ops.minimal_filtering import FastConvolutions, MinimalFiltering, can_replace, transforms


def make_layer(kernel: int, dilation: int, dtype: torch.dtype, channels=(5, 7), bias: bool = True) -> nn.Conv2d:
    torch.manual_seed(kernel + dilation)
    return nn.Conv2d(*channels, kernel, dilation=dilation, bias=bias).to(dtype)


@pytest.mark.parametrize("outputs, kernel", [(4, 3), (2, 5)])
def test_transforms_give_the_correlation(outputs, kernel):
    generator = torch.Generator().manual_seed(0)
    weights = torch.randn(kernel, dtype=torch.float64, generator=generator)
    inputs = torch.randn(outputs + kernel - 1, dtype=torch.float64, generator=generator)
    to_outputs, to_weights, to_inputs = transforms(outputs, kernel)
    found = to_outputs @ ((to_weights @ weights) * (to_inputs @ inputs))
    torch.testing.assert_close(found, inputs.unfold(0, kernel, 1) @ weights, rtol=1e-12, atol=1e-12)


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from([(3, 1), (3, 2), (3, 3), (5, 1), (5, 2)]), st.integers(0, 13), st.integers(0, 13),
    st.integers(1, 3), st.booleans(), st.booleans(),
)  # fmt: skip
def test_equals_the_direct_convolution_in_double_precision(shape, height, width, batch, bias, channels_last):
    kernel, dilation = shape
    layer = make_layer(kernel, dilation, torch.float64, bias=bias)
    reach = dilation * (kernel - 1)
    images = torch.randn(batch, 5, reach + 1 + height, reach + 1 + width, dtype=torch.float64)
    if channels_last:
        images = images.contiguous(memory_format=torch.channels_last)
    torch.testing.assert_close(MinimalFiltering(layer)(images), layer(images).detach(), rtol=1e-11, atol=1e-11)


def test_strips_of_tiles_change_nothing():
    layer = make_layer(3, 2, torch.float64)
    images = torch.randn(2, 5, 41, 30, dtype=torch.float64)
    found = MinimalFiltering(layer, products_at_once=1)(images)
    torch.testing.assert_close(found, layer(images).detach(), rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("kernel, dilation, channels", [(3, 2, (192, 384)), (5, 1, (64, 192))])
def test_rounding_in_single_precision_is_that_of_a_convolution(kernel, dilation, channels):
    layer = make_layer(kernel, dilation, torch.float32, channels)
    images = torch.relu(torch.randn(1, channels[0], 30, 30, generator=torch.Generator().manual_seed(0)))
    exact = nn.functional.conv2d(
        images.double(), layer.weight.double(), layer.bias.double(), dilation=dilation
    ).detach()
    found = MinimalFiltering(layer)(images).double()
    assert float((found - exact).abs().max() / exact.abs().max()) < 1e-5


@pytest.mark.parametrize(
    "layer",
    [nn.Conv2d(4, 4, 3, stride=2), nn.Conv2d(4, 4, 3, padding=1), nn.Conv2d(4, 4, 7), nn.Conv2d(4, 4, 3, groups=2),
     nn.Conv2d(4, 4, (3, 5)), nn.Conv2d(4, 4, 3, dilation=(1, 2)), nn.ReLU()],
)  # fmt: skip
def test_other_layers_are_left_alone(layer):
    assert not can_replace(layer)


@pytest.mark.parametrize("spec, replaced", [("vggm", [False, False, True]), ("alexnet", [False, True, True])])
@pytest.mark.parametrize("side", [300, 130])
def test_a_whole_network(spec, replaced, side):
    torch.manual_seed(0)
    network = mdnet(spec=spec)
    convolutions = FastConvolutions([network.layers.conv1, network.layers.conv2, network.layers.conv3])
    assert [fast is not None for fast in convolutions.fast] == replaced
    images = torch.rand(1, 3, side, side + 20) * 255 - 128
    wanted = network.feature_map(images).detach()
    torch.testing.assert_close(convolutions(images), wanted, rtol=0, atol=2e-5 * float(wanted.max()))
