"""Small sequences on disk, and an environment that touches nothing of the user's."""
from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pytracking.evaluation.sequence import Sequence
from pytracking.utils.image_io import write_image


@pytest.fixture(autouse=True)
def own_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Results, networks and settings of a test live in its own folder."""
    monkeypatch.setenv("PYTRACKING_RESULTS_PATH", str(tmp_path / "results"))
    monkeypatch.setenv("PYTRACKING_NETWORK_PATH", str(tmp_path / "networks"))
    monkeypatch.setenv("PYTRACKING_CONFIG", str(tmp_path / "config.toml"))
    return tmp_path


def write_sequence(
    root: Path, name: str, frames: int = 6, size: tuple[int, int] = (48, 64), step: float = 2.0, suffix: str = ".png"
) -> Sequence:
    """A patterned square of 20 x 20 pixels on noise, moving right by ``step`` pixels per frame, in the OTB layout."""
    generator = np.random.default_rng(len(name))
    background = generator.integers(0, 255, (*size, 3), dtype=np.uint8)
    pattern = np.kron(generator.integers(0, 255, (5, 5, 3)), np.ones((4, 4, 1))).astype(np.uint8)
    boxes = np.array([[4 + step * index, 10, 20, 20] for index in range(frames)])
    folder = root / name
    for index, (x, y, w, h) in enumerate(boxes):
        image = background.copy()
        image[int(y) : int(y + h), int(x) : int(x + w)] = pattern
        write_image(folder / "img" / f"{index + 1:04d}{suffix}", image)
    (folder / "groundtruth_rect.txt").write_text("".join(",".join(f"{v:g}" for v in box) + "\n" for box in boxes))
    paths = [folder / "img" / f"{index + 1:04d}{suffix}" for index in range(frames)]
    return Sequence(name, paths, "test", boxes, annotation_file=folder / "groundtruth_rect.txt")


@pytest.fixture
def sequences(tmp_path: Path) -> list[Sequence]:
    return [write_sequence(tmp_path / "data", name, frames) for name, frames in (("one", 6), ("two", 9), ("three", 5))]
