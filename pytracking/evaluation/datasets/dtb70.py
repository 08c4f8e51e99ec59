"""DTB70: 70 videos from drones."""
from __future__ import annotations

from pathlib import Path

from pytracking.evaluation.datasets import base
from pytracking.evaluation.sequence import Sequence, SequenceList

LAYOUT = "<video>/img/00001.jpg ... and <video>/groundtruth_rect.txt"


def load(root: Path | None, variant: str | None = None) -> SequenceList:
    """All 70 sequences, named ``dtb70_<video>``: several videos bear the name of another one of OTB."""

    def build(video: str) -> Sequence:
        annotation = base.first_existing(video, root / video / "groundtruth_rect.txt")
        boxes = base.read_numbers(annotation, 4)
        frames = base.frames_of(video, root / video / "img", count=len(boxes))
        return Sequence(f"dtb70_{video}", frames, "dtb70", boxes, annotation_file=annotation)

    return base.build_all("dtb70", root, LAYOUT, base.read_names("dtb70"), build)
