"""A small world in which the documents' commands can run: a video, sequences, results, no folder of the user's."""
from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pytracking.utils.image_io import write_image
from pytracking.utils.video_writer import VideoWriter

FRAMES = 6


def frames() -> list[np.ndarray]:
    texture = np.random.default_rng(0).integers(0, 255, (40, 40, 3), dtype=np.uint8)
    pictures = []
    for number in range(FRAMES):
        frame = np.full((160, 240, 3), 90, np.uint8)
        frame[50:90, 60 + 8 * number : 100 + 8 * number] = texture
        frame[60:90, 150:180] = texture[:30, :30, ::-1]
        pictures.append(frame)
    return pictures


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ``video.mp4`` and ``sequences/<name>/img``."""
    root = tmp_path_factory.mktemp("world")
    with VideoWriter(root / "video.mp4", 25) as writer:
        for frame in frames():
            writer.write(frame)
    for name in ("one", "two"):
        folder = root / "sequences" / name
        for number, frame in enumerate(frames(), 1):
            write_image(folder / "img" / f"{number:04d}.jpg", frame)
        boxes = [f"{60 + 8 * number},50,40,40" for number in range(FRAMES)]
        (folder / "groundtruth_rect.txt").write_text("\n".join(boxes) + "\n")
    return root


@pytest.fixture
def in_world(world: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The test runs inside that folder, with results and networks of its own."""
    monkeypatch.chdir(world)
    monkeypatch.setenv("PYTRACKING_RESULTS_PATH", str(world / "results"))
    monkeypatch.setenv("PYTRACKING_NETWORK_PATH", str(world / "networks"))
    monkeypatch.setenv("PYTRACKING_RESULT_PLOT_PATH", str(world / "plots"))
    monkeypatch.setenv("PYTRACKING_CPU_THREADS", "1")
    monkeypatch.setattr("pytracking.run_video.has_screen", lambda: False)
    return world
