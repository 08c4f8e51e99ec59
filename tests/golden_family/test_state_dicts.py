"""Golden folder ``state_dicts``: names, shapes and order of every network's parameters."""
import json
from pathlib import Path

import pytest
import torch

from tests.golden_family.support import construct


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "table" in metafunc.fixturenames:
        folder = Path(metafunc.config.getoption("--golden-family-dir")) / "state_dicts"
        metafunc.parametrize("table", sorted(folder.glob("*.json")), ids=lambda file: file.stem)


def test_state_dict(table):
    golden = json.loads(table.read_text())
    with torch.device("meta"):
        state = construct(golden).state_dict()
    found = {name: [list(t.shape), str(t.dtype).removeprefix("torch.")] for name, t in state.items()}
    assert found == golden["table"]
    assert list(found) == list(golden["table"])
    assert sum(t.numel() for t in state.values()) == golden["n_params"]
