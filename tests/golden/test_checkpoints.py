"""Golden folder ``checkpoints``: files with the published pickle structure, and whole networks saved in it."""
import json
import sys
import types

import numpy as np
import pytest
import torch

from ltr.checkpoint import load_network, read_checkpoint
from ltr.models.tracking.dimpnet import dimpnet18
from ltr.models.tracking.mdnet import mdnet


@pytest.fixture(scope="module")
def expected(golden_dir):
    return json.loads((golden_dir / "checkpoints" / "expected.json").read_text())


def files(golden_dir, mdnet_files: bool):
    found = sorted((golden_dir / "checkpoints").glob("*.pth"))
    chosen = [file for file in found if file.name.startswith("mdnet") == mdnet_files]
    assert chosen, f"no such checkpoints in {golden_dir}"
    return chosen


def test_checkpoints_pytracking(golden_dir, expected, filler):
    for file in files(golden_dir, mdnet_files=False):
        checkpoint = read_checkpoint(file)
        function = f"{expected['fun_module']}.{expected['fun_name']}"
        assert checkpoint.constructor == {"function": function, "kwargs": expected["kwds"]}, file.name
        assert checkpoint.metadata["epoch"] == expected["epoch"], file.name
        assert checkpoint.net.keys() == expected["net"].keys(), file.name
        for name, (shape, total) in expected["net"].items():
            tensor = checkpoint.net[name]
            assert list(tensor.shape) == shape, (file.name, name)
            assert float(tensor.double().sum()) == pytest.approx(total, rel=1e-12), (file.name, name)
            if not name.endswith("num_batches_tracked"):
                value = filler.value(name, shape, 0).astype(np.float32)
                np.testing.assert_array_equal(tensor.numpy(), value, err_msg=f"{file.name} {name}")


def test_checkpoints_mdnet(golden_dir, filler):
    for file in files(golden_dir, mdnet_files=True):
        checkpoint = read_checkpoint(file)
        assert checkpoint.constructor["function"] == "ltr.models.tracking.mdnet.mdnet"
        assert checkpoint.net and all(name.startswith("layers.") for name in checkpoint.net)
        for name, tensor in checkpoint.net.items():
            np.testing.assert_array_equal(tensor.numpy(), filler.value(name, tensor.shape, 0).astype(np.float32))


@pytest.fixture
def published_classes(monkeypatch):
    """The foreign classes of a published file, importable only while it is being written."""

    def make(module_name: str, class_name: str) -> type:
        module = types.ModuleType(module_name)
        cls = type(class_name, (), {"__module__": module_name})
        setattr(module, class_name, cls)
        parents = module_name.split(".")[:-1]
        for depth in range(1, len(parents) + 1):  # pickle imports every package on the way
            package = ".".join(parents[:depth])
            if package not in sys.modules:
                monkeypatch.setitem(sys.modules, package, types.ModuleType(package))
        monkeypatch.setitem(sys.modules, module_name, module)
        return cls

    return make


@pytest.mark.parametrize(
    ("zip_format", "package"),
    [(True, "ltr.admin"), (False, "ltr.admin"), (False, "dlframework.common.utils")],
    ids=["zip", "legacy", "oldest"],
)
def test_checkpoints_whole_network(tmp_path, golden_dir, filler, published_classes, monkeypatch, zip_format, package):
    golden = json.loads((golden_dir / "state_dicts" / "dimpnet18.json").read_text())
    original = filler.fill_module(dimpnet18(**golden["constructor_kwargs"]).eval(), 1)
    constructor = published_classes(f"{package}.model_constructor", "NetConstructor")()
    prefix = "dlframework." if package.startswith("dlframework") else ""
    constructor.fun_name, constructor.fun_module = "dimpnet18", f"{prefix}ltr.models.tracking.dimpnet"
    constructor.args, constructor.kwds = (), golden["constructor_kwargs"]
    settings = published_classes(f"{package}.settings", "Settings")()
    settings.env = published_classes(f"{package}.local", "EnvironmentSettings")()
    content = {"epoch": 50, "net": original.state_dict(), "constructor": constructor, "settings": settings}
    path = tmp_path / "dimp18.pth"
    torch.save(content, path, _use_new_zipfile_serialization=zip_format)
    monkeypatch.undo()

    network = load_network(path)
    images = torch.tensor(filler.array("checkpoint", (2, 3, 96, 96)), dtype=torch.float32)
    boxes = torch.tensor([[30.0, 28.0, 40.0, 36.0]] * 2)
    with torch.inference_mode():
        for step in ("backbone", "filter", "iou"):
            torch.testing.assert_close(run(network, images, boxes, step), run(original, images, boxes, step))
    assert not network.training and network.metadata["epoch"] == 50


def run(network, images, boxes, step):
    features = network.backbone_features(images)
    if step == "backbone":
        return features
    if step == "filter":
        return network.classifier.get_filter(network.classification_features(features), boxes)
    modulation = network.bb_regressor.modulation(features, boxes)
    return network.bb_regressor.predict(modulation, network.bb_regressor.test_features(features), boxes[:, None])


@pytest.mark.parametrize("zip_format", [True, False], ids=["zip", "legacy"])
def test_checkpoints_whole_mdnet(tmp_path, filler, zip_format):
    original = filler.fill_module(mdnet().eval(), 2)
    torch.save(
        {"shared_layers": original.layers.state_dict()}, tmp_path / "m.pth", _use_new_zipfile_serialization=zip_format
    )
    network = load_network(tmp_path / "m.pth")
    network.branches.load_state_dict(original.branches.state_dict())
    image = torch.tensor(filler.array("mdnet_checkpoint", (1, 3, 107, 107), scale=50), dtype=torch.float32)
    rois = torch.tensor([[0.0, 3.0, 4.0, 20.0, 30.0], [0.0, 8.0, 0.0, 30.0, 28.0]])
    with torch.inference_mode():
        torch.testing.assert_close(network(image, rois), original(image, rois))
