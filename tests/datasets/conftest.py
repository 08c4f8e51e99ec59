"""Empty folders for miniature copies of benchmarks, and a picture to fill them with."""
from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

from pytracking.evaluation.datasets import base

WIDTH, HEIGHT = 40, 30


@pytest.fixture(scope="session")
def picture() -> bytes:
    return cv2.imencode(".jpg", np.full((HEIGHT, WIDTH, 3), 128, np.uint8))[1].tobytes()


@pytest.fixture
def lists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder of sequence lists in place of the package's own."""
    folder = tmp_path / "lists"
    folder.mkdir()
    monkeypatch.setattr(base, "LISTS", folder)
    return folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    return folder
