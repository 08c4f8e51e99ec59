"""Virtual inputs against the literal sum over unfolded patches."""
import pytest
import torch
import torch.nn.functional as F

from rls_ext import HyperparameterError, ShapeError, virtual_input_conv, virtual_input_linear


def unfolded_sum(features, kernel, gamma, stride, padding, dilation):
    columns = F.unfold(features, kernel, dilation, padding, stride)  # (N, p, M)
    count, _, positions = columns.shape
    roots = gamma.sqrt().reshape(count, 1, -1).expand(count, 1, positions)
    return (columns * roots).sum((0, 2)) / (count * positions) ** 0.5


@pytest.mark.parametrize("kernel", (1, 3, 4, (2, 5)))
@pytest.mark.parametrize(("stride", "padding", "dilation"), [(1, 0, 1), (2, 2, 1), ((1, 3), (0, 1), 2), (1, 6, 1)])
def test_conv_equals_unfold_and_sum(kernel, stride, padding, dilation):
    generator = torch.Generator().manual_seed(0)
    features = torch.randn(3, 5, 11, 13, generator=generator, dtype=torch.float64)
    size = F.conv2d(features[:, :1], torch.ones(1, 1, *([kernel] * 2 if isinstance(kernel, int) else kernel)).double(),
                    stride=stride, padding=padding, dilation=dilation).shape[2:]
    gamma = torch.rand(3, *size, generator=generator, dtype=torch.float64)
    truth = unfolded_sum(features, kernel, gamma, stride, padding, dilation)
    args = {"stride": stride, "padding": padding, "dilation": dilation}
    torch.testing.assert_close(virtual_input_conv(features, kernel, gamma, **args), truth, rtol=1e-10, atol=1e-12)
    rooted = virtual_input_conv(features, kernel, gamma.sqrt().unsqueeze(1), rooted=True, **args)
    torch.testing.assert_close(rooted, truth, rtol=1e-10, atol=1e-12)
    per_sample = virtual_input_conv(features, kernel, gamma[:, 0, 0], **args)
    same = unfolded_sum(features, kernel, gamma[:, :1, :1], stride, padding, dilation)
    torch.testing.assert_close(per_sample, same, rtol=1e-10, atol=1e-12)


def test_conv_defaults_and_bias():
    features = torch.randn(2, 3, 18, 18)
    assert virtual_input_conv(features, 4).shape == (48,)  # padding 2: 19 x 19 positions
    torch.testing.assert_close(virtual_input_conv(features, 4), virtual_input_conv(features, 4, padding=2))
    with_bias = virtual_input_conv(features, 4, torch.full((2,), 0.25), bias=True)
    assert with_bias.shape == (49,)
    torch.testing.assert_close(with_bias[-1], torch.tensor(0.5 * 2 * 361 / (2 * 361) ** 0.5))
    assert virtual_input_conv(features.half(), 4).dtype == torch.float32


def test_linear_is_the_mean_of_inputs_and_one():
    x = torch.randn(6, 7, 4, dtype=torch.float64)
    torch.testing.assert_close(virtual_input_linear(x, bias=False), x.reshape(-1, 4).mean(0))
    assert virtual_input_linear(x).shape == (5,) and virtual_input_linear(x)[-1] == 1
    torch.testing.assert_close(virtual_input_linear(x[0, 0])[:4], x[0, 0])
    big = torch.full((4096, 2), 60000.0, dtype=torch.float16)
    torch.testing.assert_close(virtual_input_linear(big, bias=False), torch.full((2,), 60000.0), rtol=1e-3, atol=0)


def test_bad_input_is_named():
    features = torch.ones(2, 3, 8, 8)
    with pytest.raises(ShapeError, match="features"):
        virtual_input_conv(features[0], 3)
    with pytest.raises(ShapeError, match="weights"):
        virtual_input_conv(features, 3, torch.ones(2, 7, 7))
    with pytest.raises(ShapeError, match="fit"):
        virtual_input_conv(features, 11, padding=0)
    with pytest.raises(HyperparameterError, match="rooted"):
        virtual_input_conv(features, 3, -torch.ones(2, 8, 8))
    with pytest.raises(HyperparameterError, match="stride"):
        virtual_input_conv(features, 3, stride=0)
    with pytest.raises(ShapeError, match="inputs"):
        virtual_input_linear(torch.ones(0, 4))
