"""Small datasets and result folders for the analysis tests."""
from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import pytest

from pytracking.analysis.result_sets import ResultSet, Run
from pytracking.evaluation.results import write_boxes, write_times
from pytracking.evaluation.sequence import Sequence, SequenceList

FRAMES = 30


@pytest.fixture(autouse=True)
def private_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the user's results, plots and cache is read or written."""
    for key in ("results", "result_plot", "cache"):
        monkeypatch.setenv(f"PYTRACKING_{key.upper()}_PATH", str(tmp_path / key))
    monkeypatch.setenv("PYTRACKING_CONFIG", str(tmp_path / "no_config.toml"))


def truth_of(seed: int, frames: int = FRAMES) -> np.ndarray:
    rng = np.random.default_rng(seed)
    walk = np.cumsum(rng.normal(0, 2, (frames, 2)), axis=0)
    return np.concatenate([np.array([60.0, 40]) + walk, np.tile([30.0, 24], (frames, 1))], axis=1).round(2)


@pytest.fixture
def sequences() -> SequenceList:
    """Five sequences whose frames do not exist."""
    return SequenceList(
        Sequence(
            f"seq{n}",
            [f"seq{n}/{i}.jpg" for i in range(FRAMES)],
            "otb",
            truth_of(n),
            attributes={"challenges": ["OCC"] if n % 2 else ["IV", "SV"]},
        )
        for n in range(5)
    )


@pytest.fixture
def folder_dataset(tmp_path: Path) -> Path:
    """Three sequences with real frames, as ``folder:PATH`` reads them."""
    root = tmp_path / "dataset"
    for n in range(3):
        images = root / f"seq{n}" / "img"
        images.mkdir(parents=True)
        picture = np.full((120, 160, 3), 40 + 60 * n, np.uint8)
        data = cv2.imencode(".jpg", picture)[1].tobytes()
        for i in range(FRAMES):
            (images / f"{i + 1:04d}.jpg").write_bytes(data)
        np.savetxt(root / f"seq{n}" / "groundtruth_rect.txt", truth_of(n), "%.2f", ",")
    return root


def write_run(folder: Path, sequences: SequenceList, noise: float, seed: int, seconds: float = 0.05) -> Run:
    """Results near the truth."""
    rng = np.random.default_rng(seed)
    for sequence in sequences:
        boxes = sequence.ground_truth_rect + rng.normal(0, noise, sequence.ground_truth_rect.shape)
        boxes[:, 2:] = np.maximum(boxes[:, 2:], 1)
        write_boxes(folder / f"{sequence.name}.txt", boxes)
        write_times(folder / f"{sequence.name}_time.txt", np.full(len(sequence.ground_truth_rect), seconds))
    return Run(folder)


def make_set(root: Path, name: str, sequences: SequenceList, noise: float, runs: int = 3, seed: int = 0) -> ResultSet:
    """A tracker with several runs in ``root/<name>/default_%03d``."""
    folders = [root / name / f"default_{n:03d}" for n in range(runs)]
    written = [write_run(folder, sequences, noise, 100 * seed + n) for n, folder in enumerate(folders)]
    return ResultSet(name, tuple(written))


@pytest.fixture
def make_results() -> Callable[..., ResultSet]:
    return make_set


@pytest.fixture
def results(tmp_path: Path, sequences: SequenceList) -> list[ResultSet]:
    """A good and a bad tracker of three runs each."""
    root = tmp_path / "results"
    return [make_set(root, "good", sequences, 2.0, seed=1), make_set(root, "bad", sequences, 9.0, seed=2)]
