"""Clips with any number of targets, in a simple layout that other annotations are easily converted to."""
import json
from functools import cache
from pathlib import Path

import cv2
import numpy as np

from ltr.dataset.base import DatasetNotFoundError, FrameFiles, Track
from ltr.dataset.stills import is_usable

BOXES_FILE = "targets.json"


class Clips(FrameFiles):
    """Folders with frames ``*.jpg`` and ``targets.json``: ``{id: [[x, y, w, h] or null for each frame], ...}``.

    Each target counts as a video; the clip's other targets serve as distractors.

    Args:
        root: searched for such folders at any depth.
        without: names of clips to skip.
    """

    name = "clips"

    def __init__(self, root: Path, without: list[str] | None = None) -> None:
        found = sorted(path for path in Path(root).glob(f"**/{BOXES_FILE}") if path.parent.name not in (without or []))
        super().__init__([(path.parent, target) for path in found for target in _read_targets(path)])
        if not self.videos:
            raise DatasetNotFoundError(f"no folder below {root} has frames and {BOXES_FILE}")

    def files(self, index: int) -> list[Path]:
        return sorted(self.videos[index][0].glob("*.jpg"))

    def read_track(self, index: int) -> Track:
        folder, target = self.videos[index]
        listed, files = _read_targets(folder / BOXES_FILE)[target], self.files(index)
        if len(listed) != len(files):
            raise DatasetNotFoundError(
                f"{folder / BOXES_FILE} has {len(listed)} boxes of target {target} for {len(files)} frames"
            )
        height, width = cv2.imread(str(files[0]), cv2.IMREAD_GRAYSCALE).shape
        boxes = np.array([[np.nan] * 4 if box is None else box for box in listed], np.float32)
        return Track(boxes, np.array([is_usable(box, width, height) for box in boxes]))


@cache
def _read_targets(path: Path) -> dict[str, list]:
    try:
        targets = json.loads(path.read_text())
    except ValueError as error:
        raise DatasetNotFoundError(f"{path} is not JSON: {error}") from error
    if not isinstance(targets, dict) or not all(isinstance(boxes, list) for boxes in targets.values()):
        raise DatasetNotFoundError(f"{path} must be {{target: [box or null for each frame]}}")
    return targets
