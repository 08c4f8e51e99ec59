"""Need for Speed at 30 frames per second: 100 videos."""
from __future__ import annotations

from pathlib import Path

from pytracking.evaluation.datasets import base
from pytracking.evaluation.sequence import Sequence, SequenceList

LAYOUT = "sequences/<video>/00001.jpg ... (30 fps) and anno/nfs_<video>.txt (x y w h)"


def load(root: Path | None, variant: str | None = None) -> SequenceList:
    """All 100 sequences, named ``nfs_<video>``."""

    def build(row: dict[str, str]) -> Sequence:
        video = row["name"]
        annotation = base.first_existing(video, root / "anno" / f"nfs_{video}.txt")
        boxes = base.annotated_range(video, base.read_numbers(annotation, 4), 1, int(row["last"]), annotation)
        frames = base.frames_of(video, root / "sequences" / video, 1, len(boxes))
        return Sequence(
            f"nfs_{video}", frames, "nfs", boxes, object_class=row["class"], annotation_file=annotation
        )

    return base.build_all("nfs", root, LAYOUT, base.read_table("nfs"), build)
