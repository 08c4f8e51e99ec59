"""What the golden tests share: the set's description and the filler that makes its weights and inputs."""
import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="session")
def filler(golden_dir: Path) -> ModuleType:
    """``filler.py`` of the golden set in use."""
    spec = importlib.util.spec_from_file_location("golden_filler", golden_dir / "filler.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def golden_set(golden_dir: Path) -> dict:
    """``set.json``: seed, input sizes and frame of the golden set in use."""
    return json.loads((golden_dir / "set.json").read_text())
