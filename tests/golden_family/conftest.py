"""What the tests of ATOM, PrDiMP and SuperDiMP share: the golden set in use, its filler, networks and frames."""
from __future__ import annotations

import importlib.util
import json
import zlib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
import torch

from tests.golden_family.support import construct, read_frame


@pytest.fixture(scope="session")
def family_dir(request: pytest.FixtureRequest) -> Path:
    return Path(request.config.getoption("--golden-family-dir"))


@pytest.fixture(scope="session")
def filler(family_dir: Path) -> ModuleType:
    """``filler.py`` of the golden set in use."""
    spec = importlib.util.spec_from_file_location("golden_family_filler", family_dir / "filler.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def family_set(family_dir: Path) -> dict:
    """``set.json``: seed and input sizes of the golden set in use."""
    return json.loads((family_dir / "set.json").read_text())


@pytest.fixture(scope="session")
def make_network(family_dir: Path, filler: ModuleType) -> Callable[[str, int], torch.nn.Module]:
    """Builds a network of ``state_dicts`` by name, with the filler's weights for a seed, in eval mode."""

    def make(name: str, seed: int) -> torch.nn.Module:
        description = json.loads((family_dir / "state_dicts" / f"{name}.json").read_text())
        return filler.fill_module(construct(description), seed).eval()

    return make


@pytest.fixture(scope="session")
def dragonbaby(family_dir: Path, sequences_dir: Path) -> Path:
    """The sequence's folder, once its decoded frames are known to be those of the golden runs."""
    folder = sequences_dir / "OTB" / "DragonBaby"
    if not folder.is_dir():
        pytest.skip(f"{folder} is not there")
    for stem, (shape, crc, _) in json.loads((family_dir / "e2e" / "frame_crc.json").read_text())["frames"].items():
        image = read_frame(folder, int(stem))
        if list(image.shape) != shape or zlib.crc32(image.tobytes()) != crc:
            pytest.skip(f"this machine decodes {folder / 'img' / stem}.jpg differently from the golden runs")
    return folder
