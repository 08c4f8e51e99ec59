"""Our own checkpoints: round trips, failed saves, and networks that do not fit."""
import os

import pytest
import torch

from ltr.checkpoint import NETWORKS, CheckpointError, load_network, save_checkpoint
from ltr.models.tracking.dimpnet import dimpnet_mobile
from ltr.models.tracking.mdnet import mdnet

TINY = {"out_feature_dim": 8, "iou_input_dim": [8, 8], "iou_inter_dim": [8, 8], "iou_reference_dim": 4, "width": 0.25}
CONSTRUCTOR = {"function": "ltr.models.tracking.dimpnet.dimpnet_mobile", "kwargs": TINY}


@pytest.fixture(scope="module")
def tiny():
    torch.manual_seed(0)
    return dimpnet_mobile(**TINY).eval()


@pytest.mark.parametrize("half", [False, True])
def test_round_trip(tmp_path, tiny, half):
    path = tmp_path / "sub" / "tiny.pth"
    save_checkpoint(path, tiny.state_dict(), CONSTRUCTOR, {"tracker": {"image_sample_size": 256}}, half=half)
    network = load_network(path)
    assert network.metadata["tracker"] == {"image_sample_size": 256}
    for name, tensor in tiny.state_dict().items():
        found = network.state_dict()[name]
        assert found.dtype == tensor.dtype, name
        torch.testing.assert_close(found, tensor, rtol=1e-3 if half else 0, atol=1e-7 if half else 0)
    assert set(torch.load(path, weights_only=True)) == {"format", "version", "net", "constructor", "metadata"}
    assert os.listdir(path.parent) == ["tiny.pth"]


def test_failed_save_leaves_the_old_file(tmp_path, tiny, monkeypatch):
    path = tmp_path / "tiny.pth"
    save_checkpoint(path, tiny.state_dict(), CONSTRUCTOR)
    before = path.read_bytes()

    def full_disk(*_args, **_kwargs):
        raise OSError("No space left on device")

    monkeypatch.setattr(torch, "save", full_disk)
    with pytest.raises(OSError, match="No space"):
        save_checkpoint(path, tiny.state_dict(), CONSTRUCTOR)
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["tiny.pth"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (({}, {"function": "os.system", "kwargs": {}}), "not one of"),
        (({}, CONSTRUCTOR, {"when": object()}), "metadata must be JSON-like"),
        (({"w": torch.tensor([1e9])}, CONSTRUCTOR, {}), "16 bits"),
    ],
)
def test_save_refuses(tmp_path, arguments, message):
    with pytest.raises(CheckpointError, match=message):
        save_checkpoint(tmp_path / "x.pth", *arguments, half=True)


def test_wrong_network_is_explained(tmp_path, tiny):
    state = tiny.state_dict()
    renamed = {("strange." + name if "bb_regressor" in name else name): t for name, t in state.items()}
    save_checkpoint(tmp_path / "x.pth", renamed, CONSTRUCTOR)
    with pytest.raises(CheckpointError, match=r"another network: \d+ missing \(bb_regressor.*unknown \(strange"):
        load_network(tmp_path / "x.pth")
    save_checkpoint(tmp_path / "y.pth", state, CONSTRUCTOR)
    with pytest.raises(CheckpointError, match="of another shape"):
        load_network(tmp_path / "y.pth", out_feature_dim=16)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"no_such_option": 1}, "no_such_option"),
        ({"constructor": "os.system"}, "this package has"),
        ({"taps": {"layer2": "14e", "layer3": "13"}}, "at its stride"),
        ({"score_act": "bentpar"}, "score_act"),
    ],
)
def test_overrides_that_do_not_fit(tmp_path, tiny, overrides, message):
    save_checkpoint(tmp_path / "x.pth", tiny.state_dict(), CONSTRUCTOR)
    with pytest.raises(CheckpointError, match=message):
        load_network(tmp_path / "x.pth", **overrides)


def test_plain_state_dict_needs_a_constructor(tmp_path, tiny):
    torch.save(tiny.state_dict(), tmp_path / "x.pth")
    with pytest.raises(CheckpointError, match="constructor="):
        load_network(tmp_path / "x.pth")
    network = load_network(tmp_path / "x.pth", constructor=CONSTRUCTOR["function"], **TINY)
    torch.testing.assert_close(network.state_dict(), tiny.state_dict())


def test_branches_of_mdnet_are_not_stored(tmp_path):
    original = mdnet(spec="alexnet")
    constructor = {"function": "ltr.models.tracking.mdnet.mdnet", "kwargs": {"spec": "alexnet"}}
    shared = {name: t for name, t in original.state_dict().items() if name.startswith("layers.")}
    save_checkpoint(tmp_path / "x.pth", shared, constructor)
    network = load_network(tmp_path / "x.pth")
    assert network.branches[0][1].weight.device.type == "cpu" and network.branches[0][1].weight.abs().sum() > 0
    torch.testing.assert_close(network.layers.state_dict(), original.layers.state_dict())


def test_every_known_constructor_exists():
    import importlib

    for function in NETWORKS:
        module, name = function.rsplit(".", 1)
        assert callable(getattr(importlib.import_module(module), name)), function
