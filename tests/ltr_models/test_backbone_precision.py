"""Mixed precision in the backbone."""
import torch

from ltr.models.backbone.mobilenet import StridedDepthwise


def test_a_strided_depthwise_convolution_keeps_single_precision_on_a_cpu() -> None:
    torch.manual_seed(0)
    convolution = StridedDepthwise(8, 8, 3, 2, 1, groups=8, bias=False)
    x = torch.randn(2, 8, 11, 11)
    expected = convolution(x)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = convolution(x)
        of_half = convolution(x.bfloat16())
        assert torch.nn.functional.conv2d(x, convolution.weight, groups=8).dtype == torch.bfloat16, "autocast is off"
    assert found.dtype == of_half.dtype == torch.float32
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(of_half, convolution(x.bfloat16().float()))
    of_half.sum().backward()
    assert convolution.weight.grad.dtype == torch.float32
