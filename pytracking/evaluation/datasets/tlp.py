"""TLP (Track Long and Prosper): 50 videos with 676 thousand frames in total."""
from pathlib import Path

import numpy as np

from pytracking.evaluation.datasets import base
from pytracking.evaluation.sequence import Sequence, SequenceList

ANNOTATION = "groundtruth_rect.txt"
LAYOUT = f"50 folders <video>/img/00001.jpg ... with <video>/{ANNOTATION} (frame, x, y, w, h, lost)"
VIDEOS = 50


def load(root: Path | None, variant: str | None = None) -> SequenceList:
    """Loads all 50 sequences, named ``tlp_<video>`` after the benchmark's folders; boxes are NaN in lost frames."""

    def build(video: str) -> Sequence:
        annotation = base.first_existing(video, root / video / ANNOTATION)
        table = base.read_numbers(annotation, 6)  # frame, x, y, w, h, lost
        lost = table[:, 5] != 0
        boxes = np.where(lost[:, None], np.nan, table[:, 1:5])
        frames = base.frames_of(video, root / video / "img", int(table[0, 0]), len(boxes))
        return Sequence(f"tlp_{video}", frames, "tlp", boxes, target_visible=~lost, annotation_file=annotation)

    videos = sorted(path.name for path in root.iterdir() if path.is_dir()) if root and root.is_dir() else []
    sequences = base.build_all("tlp", root, LAYOUT, videos, build)
    if len(sequences) != VIDEOS:
        found = f" in '{root}': {len(sequences)} of {VIDEOS} sequences found ({', '.join(videos)})"
        raise base.IncompleteDatasetError("tlp", found, LAYOUT, sequences, VIDEOS)
    return sequences
