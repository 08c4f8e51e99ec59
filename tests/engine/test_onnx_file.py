"""Graphs written by hand and translated from modules, read and run by ONNX Runtime, against torch."""
import numpy as np
import onnxruntime
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from ltr.engine.onnx_file import GraphFile, varint
from ltr.engine.translate import Translator, UntranslatableError
from ltr.models.inference import prepare_for_inference
from ltr.models.target_classifier.features import InstanceL2Norm
from ltr.models.tracking.dimpnet import dimpnet18, dimpnet50, dimpnet_mobile


class Both(nn.Module):
    """Gives a module's output as a tuple, as the translator needs it."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, x):
        return (self.module(x),)


def run_translated(module: nn.Module, x: torch.Tensor) -> np.ndarray:
    file = GraphFile("test")
    file.input("x", ("batch", x.shape[1], "height", "width"))
    (result,) = Translator(file, Both(module)).run("x")
    file.output("y", result, ("a", "b", "c", "d"))
    session = onnxruntime.InferenceSession(file.to_bytes(), providers=["CPUExecutionProvider"])
    return session.run(["y"], {"x": x.numpy()})[0]


@given(st.integers(-(2**63), 2**63 - 1))
def test_varint_round_trips(value):
    data, found = varint(value), 0
    for place, byte in enumerate(data):
        found |= (byte & 127) << 7 * place
        assert (byte > 127) == (place < len(data) - 1)
    assert found == value % 2**64


@settings(max_examples=15)
@given(
    kernel=st.sampled_from([(1, 1), (3, 3), (5, 3)]), stride=st.integers(1, 3), padding=st.integers(0, 2),
    dilation=st.integers(1, 2), groups=st.sampled_from([1, 2, 4]), bias=st.booleans(), batch=st.integers(1, 3),
)  # fmt: skip
def test_convolutions(kernel, stride, padding, dilation, groups, bias, batch):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        conv = nn.Conv2d(4, 8, kernel, stride, padding, dilation, groups, bias)
        x = torch.randn(batch, 4, 13, 17)
    with torch.no_grad():
        torch.testing.assert_close(torch.from_numpy(run_translated(conv, x)), conv(x), rtol=1e-5, atol=1e-5)


LAYERS = {
    "max pool": nn.MaxPool2d(3, stride=2, padding=1),
    "relu6": nn.ReLU6(inplace=True),
    "instance norm": InstanceL2Norm(0.3, eps=0.5),
    "identity and dropout": nn.Sequential(nn.Identity(), nn.Dropout(0.5), nn.ReLU()).eval(),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers(name):
    x = 4 * torch.randn(2, 4, 9, 11, generator=torch.Generator().manual_seed(0))
    expected = LAYERS[name](x.clone())
    torch.testing.assert_close(torch.from_numpy(run_translated(LAYERS[name], x)), expected, rtol=1e-6, atol=1e-6)


def test_what_has_no_translation_is_refused():
    with pytest.raises(UntranslatableError, match="Softmax"):
        run_translated(nn.Softmax(1), torch.zeros(1, 2, 3, 3))
    with pytest.raises(UntranslatableError, match="tanh"):
        run_translated(type("Tanh", (nn.Module,), {"forward": lambda self, x: x.tanh()})(), torch.zeros(1, 2, 3, 3))


NETWORKS = {"mobile": dimpnet_mobile, "dimp18": dimpnet18, "dimp50": lambda: dimpnet50(clf_feat_blocks=1)}


@pytest.mark.parametrize("name", NETWORKS)
def test_whole_networks(name):
    """Two sizes through one graph: nothing of the first may be frozen into it."""
    from ltr.engine import OnnxEngine

    with torch.random.fork_rng():
        torch.manual_seed(1)
        network = prepare_for_inference(NETWORKS[name]().eval())
        engine = OnnxEngine(network, threads=1)
        for shape in ((2, 3, 64, 96), (1, 3, 80, 80)):
            images = torch.randn(shape)
            with torch.no_grad():
                expected = network.backbone_features(images)
                expected["classification"] = network.classification_features(expected)
            found = engine(images)
            assert found.keys() == expected.keys()
            for layer, tensor in expected.items():
                torch.testing.assert_close(found[layer], tensor, rtol=1e-3, atol=1e-4 * float(tensor.abs().max()))
