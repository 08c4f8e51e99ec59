"""Sequences in the OTB layout, small enough to track in a moment, and folders of the test's own for all output."""
from pathlib import Path

import cv2
import numpy as np
import pytest

FRAMES = {"walk": 8, "run": 6}


def write_folder(root: Path) -> Path:
    """A textured square that moves over noise; its speed differs between the sequences."""
    rng = np.random.default_rng(0)
    for speed, (name, frames) in enumerate(FRAMES.items(), start=3):
        images = root / name / "img"
        images.mkdir(parents=True)
        background = rng.integers(0, 120, (120, 160, 3), np.uint8)
        target = rng.integers(100, 255, (24, 30, 3), np.uint8)
        boxes = []
        for index in range(frames):
            x, y = 20 + speed * index, 30 + 2 * index
            image = background.copy()
            image[y : y + 24, x : x + 30] = target
            cv2.imwrite(str(images / f"{index + 1:04d}.jpg"), image)
            boxes.append(f"{x + 1},{y + 1},30,24")
        (root / name / "groundtruth_rect.txt").write_text("\n".join(boxes) + "\n")
    return root


@pytest.fixture
def sequences(tmp_path):
    return write_folder(tmp_path / "sequences")


@pytest.fixture
def results(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTRACKING_RESULTS_PATH", str(tmp_path / "results"))
    monkeypatch.setenv("PYTRACKING_CACHE_PATH", str(tmp_path / "cache"))
    return tmp_path / "results"
