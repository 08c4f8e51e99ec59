"""LaSOT's test set, 280 videos of 2500 frames on average, and its extension's 150 videos of 15 other classes."""
from __future__ import annotations

from pathlib import Path

from pytracking.evaluation.datasets import base
from pytracking.evaluation.sequence import Sequence, SequenceList

LAYOUT = "<class>/<class>-<n>/img/00000001.jpg ..., and groundtruth.txt, full_occlusion.txt, out_of_view.txt beside img"


def load(root: Path | None, variant: str | None = None) -> SequenceList:
    """All 280 sequences, or the variant "extension", whose list is the folder's own; a target counts as visible where
    neither of its two flags is set.
    """
    dataset = "lasot_extension_subset" if variant == "extension" else "lasot"

    def build(row: dict[str, str]) -> Sequence:
        name = row["name"]
        kind = name.rsplit("-", 1)[0]
        folder = base.first_existing(name, root / kind / name, root / name)
        flags = folder / "full_occlusion.txt", folder / "out_of_view.txt"
        facts = {"object_class": kind, "attributes": base.challenges(row["attributes"]), "flags": flags}
        return base.annotated(name, dataset, folder / "groundtruth.txt", folder / "img", 1, **facts)

    if variant != "extension":
        return base.build_all(dataset, root, LAYOUT, base.read_table("lasot"), build)
    found = sorted(folder.parent.name for folder in root.glob("*/*-*/img")) if root else []
    return base.build_all(dataset, root, LAYOUT, [{"name": name, "attributes": ""} for name in found], build)
