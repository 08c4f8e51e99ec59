"""Golden folder ``state_dicts``: names and shapes of parameters, table by table."""
import json

import pytest
import torch

from ltr.models.bbreg import IoUNet, atom
from ltr.models.tracking import dimpnet


def shapes(network: torch.nn.Module) -> dict[str, tuple[list[int], str]]:
    state = network.state_dict()
    return {name: [list(t.shape), str(t.dtype).removeprefix("torch.")] for name, t in state.items()}


@pytest.mark.parametrize("name", ["dimpnet18", "dimpnet50"])
def test_state_dicts_dimpnet(golden_dir, name):
    golden = json.loads((golden_dir / "state_dicts" / f"{name}.json").read_text())
    function = golden["constructor_function"].rsplit(".", 1)[1]
    with torch.device("meta"):
        network = getattr(dimpnet, function)(**golden["constructor_kwargs"])
    assert shapes(network) == golden["table"]
    assert sum(t.numel() for t in network.state_dict().values()) == golden["n_params"]


@pytest.mark.parametrize(("name", "input_dim"), [("iounet_r18", (128, 256)), ("iounet_r50", (512, 1024))])
def test_state_dicts_iounet(golden_dir, name, input_dim):
    golden = json.loads((golden_dir / "state_dicts" / f"{name}.json").read_text())
    assert shapes(IoUNet(input_dim)) == golden["table"]


@pytest.mark.parametrize("name", ["atom_resnet18", "atom_resnet50"])
def test_state_dicts_atom(golden_dir, name):
    golden = json.loads((golden_dir / "state_dicts" / f"{name}.json").read_text())
    with torch.device("meta"):
        assert shapes(getattr(atom, golden["constructor"].rsplit(".", 1)[1])()) == golden["table"]
