"""DTB70: 70 videos from drones."""
from pathlib import Path

from pytracking.evaluation.datasets import base
from pytracking.evaluation.sequence import Sequence, SequenceList

LAYOUT = "<video>/img/00001.jpg ... and <video>/groundtruth_rect.txt"


def load(root: Path | None, variant: str | None = None) -> SequenceList:
    """Loads all 70 sequences, named ``dtb70_<video>`` because several videos have the same name as one of OTB."""

    def build(video: str) -> Sequence:
        folder = root / video
        return base.annotated(video, "dtb70", folder / "groundtruth_rect.txt", folder / "img", prefix="dtb70_")

    return base.build_all("dtb70", root, LAYOUT, base.read_names("dtb70"), build)
