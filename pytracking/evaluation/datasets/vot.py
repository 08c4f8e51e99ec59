"""The short-term sequences of VOT2016 to VOT2019, for runs without resets and for pictures.

The VOT measures come from the VOT toolkit, which resets the tracker: see ``pytracking vot``.
"""
from pathlib import Path

import numpy as np

from pytracking.evaluation.datasets import base
from pytracking.evaluation.sequence import Sequence, SequenceList

LAYOUT = "<video>/groundtruth.txt (x,y,w,h or polygons) and <video>/color/00000001.jpg ... (or without color/)"
# VOT2018 has the same videos as VOT2017.
LISTS = {"vot": "vot18", "vot16": "vot16", "vot17": "vot18", "vot18": "vot18", "vot19": "vot19"}


def load(root: Path | None, variant: str | None = None) -> SequenceList:
    """Loads the 60 sequences of a year ("vot16" ... "vot19"), named ``<year>_<video>``; "vot" is 2018 without the year.

    The years share videos but not annotations, hence the prefix. A polygon becomes the smallest upright box around it;
    the polygons are kept in ``attributes["polygons"]``.
    """

    def build(video: str) -> Sequence:
        folder = root / video
        annotation = base.first_existing(video, folder / "groundtruth.txt")
        regions = base.read_numbers(annotation, (4, 8))
        images = folder / "color" if (folder / "color").is_dir() else folder
        return Sequence(
            video if variant == "vot" else f"{variant}_{video}",
            base.frames_of(video, images, count=len(regions)),
            variant,
            enclosing_boxes(regions),
            attributes={"polygons": regions} if regions.shape[1] == 8 else None,
            annotation_file=annotation,
        )

    return base.build_all(variant, root, LAYOUT, base.read_names(LISTS[variant]), build)


def enclosing_boxes(regions: np.ndarray) -> np.ndarray:
    """Upright boxes (n, 4) around polygons of four corners (n, 8); boxes (n, 4) are returned as they are."""
    if regions.shape[1] == 4:
        return regions
    corners = regions.reshape(len(regions), 4, 2)
    low, high = corners.min(axis=1), corners.max(axis=1)
    return np.concatenate([low, high - low], axis=1)
