"""Need for Speed at 30 frames per second: 100 videos."""
from pathlib import Path

from pytracking.evaluation.datasets import base
from pytracking.evaluation.sequence import Sequence, SequenceList

LAYOUT = "sequences/<video>/00001.jpg ... (30 fps) and anno/nfs_<video>.txt (x y w h)"


def load(root: Path | None, variant: str | None = None) -> SequenceList:
    """Loads all 100 sequences, named ``nfs_<video>``."""

    def build(row: dict[str, str]) -> Sequence:
        video, last = row["name"], int(row["last"])
        annotation, images = root / "anno" / f"nfs_{video}.txt", root / "sequences" / video
        return base.annotated(video, "nfs", annotation, images, 1, last, prefix="nfs_", object_class=row["class"])

    return base.build_all("nfs", root, LAYOUT, base.read_table("nfs"), build)
