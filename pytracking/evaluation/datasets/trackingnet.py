"""TrackingNet's test set: 511 clips with only the first box public."""
from pathlib import Path

from pytracking.evaluation.datasets import base
from pytracking.evaluation.sequence import Sequence, SequenceList

LAYOUT = "TEST/frames/<clip>/0.jpg ... and TEST/anno/<clip>.txt (the first box)"


def load(root: Path | None, variant: str | None = None) -> SequenceList:
    """Loads all 511 sequences."""

    def build(clip: str) -> Sequence:
        annotation = base.first_existing(clip, root / "TEST" / "anno" / f"{clip}.txt")
        boxes = base.read_numbers(annotation, 4)
        frames = base.frames_of(clip, root / "TEST" / "frames" / clip)
        return Sequence(clip, frames, "trackingnet", boxes, annotation_file=annotation)

    return base.build_all("trackingnet", root, LAYOUT, base.read_names("trackingnet_test"), build)
