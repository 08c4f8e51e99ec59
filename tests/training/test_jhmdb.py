"""Clips in JHMDB's layout."""
from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

from ltr.dataset.base import DatasetNotFoundError
from ltr.dataset.jhmdb import JhmdbClips

BOXES = [(40, 20, 100, 90), (50, 20, 110, 90), (50, 20, 55, 90)]  # corners; the last is too thin to train on


def write_clip(root: Path, action: str, clip: str, frames: int) -> None:
    """Frame t has brightness 60 t."""
    path = root / "data" / action / f"{clip}.avi"
    path.parent.mkdir(parents=True, exist_ok=True)
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*"MJPG"), 10, (200, 120))
    for t in range(frames):
        writer.write(np.full((120, 200, 3), 60 * t, np.uint8))
    writer.release()


@pytest.fixture
def jhmdb(tmp_path: Path) -> Path:
    write_clip(tmp_path, "brush_hair", "a_1", frames=3)
    write_clip(tmp_path, "brush_hair", "a_2", frames=3)  # has no boxes
    labels = tmp_path / "groundtruths_jhmdb"
    labels.mkdir()
    for t, corners in enumerate(BOXES):
        (labels / f"brush_hair_a_1_{t + 1:05d}.txt").write_text(" ".join(map(str, (1, *corners))) + "\n")
    return tmp_path


def test_a_clip_has_its_boxes_frame_by_frame(jhmdb: Path) -> None:
    dataset = JhmdbClips(jhmdb)
    assert len(dataset) == 1 and dataset.is_video
    track = dataset.track(0)
    assert track.boxes.tolist() == [[40, 20, 60, 70], [50, 20, 60, 70], [50, 20, 5, 70]]
    assert track.visible.tolist() == [True, True, False]
    frames = dataset.frames(0, [2, 0, 2])
    assert [round(float(frame.mean()) / 60) for frame in frames] == [2, 0, 2]


def test_a_clip_that_ends_too_early_is_named(jhmdb: Path) -> None:
    write_clip(jhmdb, "brush_hair", "a_1", frames=2)
    with pytest.raises(DatasetNotFoundError, match=r"a_1\.avi ends before frame 3"):
        JhmdbClips(jhmdb).frames(0, [2])


def test_a_wrong_folder_says_what_must_be_there(jhmdb: Path, tmp_path: Path) -> None:
    with pytest.raises(DatasetNotFoundError, match="groundtruths_jhmdb"):
        JhmdbClips(tmp_path / "absent")
    for label in (jhmdb / "groundtruths_jhmdb").iterdir():
        label.unlink()
    with pytest.raises(DatasetNotFoundError, match="no clip"):
        JhmdbClips(jhmdb)
