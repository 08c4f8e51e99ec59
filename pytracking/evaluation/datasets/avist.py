"""AVisT: 120 videos in bad visibility. Its list is the folder's own."""
from __future__ import annotations

from pathlib import Path

import numpy as np

from pytracking.evaluation.datasets import base
from pytracking.evaluation.sequence import Sequence, SequenceList

LAYOUT = (
    "sequences/<video>/img_00001.jpg ..., anno/<video>.txt, full_occlusion/<video>_full_occlusion.txt and "
    "out_of_view/<video>_out_of_view.txt"
)


def load(root: Path | None, variant: str | None = None) -> SequenceList:
    """All sequences; a target counts as visible where neither of its two flags is set."""

    def build(name: str) -> Sequence:
        annotation = base.first_existing(name, root / "anno" / f"{name}.txt")
        boxes = base.read_numbers(annotation, 4)
        flags = [
            base.read_flags(base.first_existing(name, root / kind / f"{name}_{kind}.txt"))
            for kind in ("full_occlusion", "out_of_view")
        ]
        if {len(each) for each in flags} != {len(boxes)}:
            counts = " and ".join(str(len(each)) for each in flags)
            raise base.MissingPartError(f"{name}: {len(boxes)} boxes, but {counts} flags of occlusion and out of view")
        return Sequence(
            name,
            base.frames_of(name, root / "sequences" / name, 1, len(boxes)),
            "avist",
            boxes,
            target_visible=~np.logical_or(*flags),
            annotation_file=annotation,
        )

    names = sorted(path.stem for path in (root / "anno").glob("*.txt")) if root else []
    return base.build_all("avist", root, LAYOUT, names, build)
