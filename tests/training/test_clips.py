"""Clips of several targets with their boxes in one file."""
from __future__ import annotations

import json
from pathlib import Path

import cv2
import numpy as np
import pytest

from ltr.dataset.base import DatasetNotFoundError
from ltr.dataset.clips import Clips

FIRST = [[40, 20, 60, 70], [50, 20, 60, 70], None]
SECOND = [[10, 10, 30, 30], [10, 10, 5, 40], [12, 10, 30, 30]]  # the second box is too thin to train on


def write_clip(folder: Path, targets: object, frames: int = 3) -> Path:
    """Frame t has brightness 60 t."""
    folder.mkdir(parents=True)
    for t in range(frames):
        cv2.imwrite(str(folder / f"{t:05d}.jpg"), np.full((120, 200, 3), 60 * t, np.uint8))
    (folder / "targets.json").write_text(targets if isinstance(targets, str) else json.dumps(targets))
    return folder


def test_every_target_of_a_clip_is_a_video(tmp_path: Path) -> None:
    write_clip(tmp_path / "source" / "dogs", {"1": FIRST, "2": SECOND})
    write_clip(tmp_path / "fish", {"7": SECOND})
    clips = Clips(tmp_path)
    assert [(folder.name, target) for folder, target in clips.videos] == [("fish", "7"), ("dogs", "1"), ("dogs", "2")]
    assert clips.track(1).visible.tolist() == [True, True, False]
    assert clips.track(1).boxes[:2].tolist() == FIRST[:2]
    assert clips.track(2).visible.tolist() == [True, False, True]
    assert [round(float(frame.mean()) / 60) for frame in clips.frames(2, [2, 0])] == [2, 0]


def test_clips_can_be_left_out_by_name(tmp_path: Path) -> None:
    for name in ("dogs", "fish"):
        write_clip(tmp_path / name, {"1": FIRST})
    assert [folder.name for folder, _ in Clips(tmp_path, without=["dogs"]).videos] == ["fish"]
    with pytest.raises(DatasetNotFoundError, match=r"targets\.json"):
        Clips(tmp_path, without=["dogs", "fish"])


def test_boxes_that_do_not_fit_the_frames_are_named(tmp_path: Path) -> None:
    write_clip(tmp_path / "dogs", {"1": FIRST}, frames=2)
    with pytest.raises(DatasetNotFoundError, match=r"dogs.targets\.json has 3 boxes of target 1 for 2 frames"):
        Clips(tmp_path).track(0)


@pytest.mark.parametrize("text", ["{", "[1, 2]", '{"1": 5}'])
def test_a_damaged_file_is_named(tmp_path: Path, text: str) -> None:
    write_clip(tmp_path / "dogs", text)
    with pytest.raises(DatasetNotFoundError, match=r"dogs.targets\.json"):
        Clips(tmp_path)
