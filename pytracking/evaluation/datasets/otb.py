"""OTB-2015 (100 targets in 98 videos) and two subsets: OTB-2013 (51 targets) and TB-50 (50 targets).

Boxes are used as published (1-based), as in pytracking, whose published results are relative to these boxes.
"""
from pathlib import Path

from pytracking.evaluation.datasets import base
from pytracking.evaluation.sequence import Sequence, SequenceList

LAYOUT = "<video>/img/0001.jpg ... and <video>/groundtruth_rect.txt (Jogging, Skating2: .1.txt and .2.txt)"


def load(root: Path | None, variant: str | None = None) -> SequenceList:
    """Loads all 100 sequences, or those of variant "otb2013" or "otb50".

    Two targets in one video share its frames. The annotation of David starts at frame 300.
    """
    rows = base.read_table("otb")
    if variant is not None:
        by_name = {row["name"]: row for row in rows}
        rows = [by_name[name] for name in base.read_names(variant)]

    def build(row: dict[str, str]) -> Sequence:
        name, folder = row["name"], root / row["folder"]
        first, last, skip = int(row["first"]), int(row["last"]), int(row["skip"])
        facts = {"object_class": row["class"], "attributes": {"challenges": row["attributes"].split()}}
        annotation, images = folder / row["annotation"], folder / "img"
        return base.annotated(name, "otb", annotation, images, first, last, skip=skip, **facts)

    return base.build_all(variant or "otb", root, LAYOUT, rows, build)
