"""JHMDB: short clips of people in action, with the person's box in every frame."""
from collections import defaultdict
from pathlib import Path

import cv2
import numpy as np

from ltr.dataset.base import CachedTracks, DatasetNotFoundError, Track
from ltr.dataset.stills import is_usable


class JhmdbClips(CachedTracks):
    """``data/<action>/<clip>.avi`` and ``groundtruths_jhmdb/<action>_<clip>_<frame>.txt`` (class, x1, y1, x2, y2).

    Clips without boxes are skipped. Frame numbers in the names of the text files start at 1.

    Args:
        root: folder that contains both.
    """

    name = "jhmdb"

    def __init__(self, root: Path) -> None:
        clips, labels = Path(root) / "data", Path(root) / "groundtruths_jhmdb"
        if not clips.is_dir() or not labels.is_dir():
            raise DatasetNotFoundError(f"{root} must hold data/<action>/<clip>.avi and groundtruths_jhmdb/*.txt")
        files: dict[str, list[Path]] = defaultdict(list)
        for path in sorted(labels.glob("*.txt")):
            files[path.stem.rpartition("_")[0]].append(path)
        named = {f"{path.parent.name}_{path.stem}": path for path in sorted(clips.glob("*/*.avi"))}
        super().__init__([(path, files[name]) for name, path in named.items() if name in files])
        if not self.videos:
            raise DatasetNotFoundError(f"no clip in {clips} has boxes in {labels}")

    def frames(self, index: int, frame_ids: list[int]) -> list[np.ndarray]:
        """Decodes from the start: clips have about 40 small frames, so this is faster than seeking."""
        path = self.videos[index][0]
        video, wanted = cv2.VideoCapture(str(path)), set(frame_ids)
        found: dict[int, np.ndarray] = {}
        for t in range(max(wanted) + 1):
            read, frame = video.read()
            if not read:
                raise DatasetNotFoundError(f"{path} ends before frame {t + 1}, which has a box: copy it again")
            if t in wanted:
                found[t] = cv2.cvtColor(frame, cv2.COLOR_BGR2RGB)
        return [found[t] for t in frame_ids]

    def read_track(self, index: int) -> Track:
        path, labels = self.videos[index]
        video = cv2.VideoCapture(str(path))
        size = (video.get(cv2.CAP_PROP_FRAME_WIDTH), video.get(cv2.CAP_PROP_FRAME_HEIGHT))
        boxes = np.full((len(labels), 4), np.nan, np.float32)
        for t, label in enumerate(labels):
            corners = np.array(label.read_text().split()[1:5], np.float32)
            boxes[t] = np.concatenate([corners[:2], corners[2:] - corners[:2]])
        return Track(boxes, np.array([is_usable(box, *size) for box in boxes]))
