"""LaSOT's test set, 280 videos of 2500 frames on average, and its extension's 150 videos of 15 other classes."""
from pathlib import Path

from pytracking.evaluation.datasets import base
from pytracking.evaluation.sequence import Sequence, SequenceList

LAYOUT = "<class>/<class>-<n>/ with img/00000001.jpg ..., groundtruth.txt, full_occlusion.txt and out_of_view.txt"


def load(root: Path | None, variant: str | None = None) -> SequenceList:
    """Loads all 280 sequences, or variant "extension", whose sequences are listed from its folder.

    The target is visible if neither of its two flags is set.
    """
    dataset = "lasot_extension_subset" if variant == "extension" else "lasot"

    def build(row: dict[str, str]) -> Sequence:
        name = row["name"]
        kind = name.rsplit("-", 1)[0]
        folder = base.first_existing(name, root / kind / name, root / name)
        flags = folder / "full_occlusion.txt", folder / "out_of_view.txt"
        facts = {"object_class": kind, "attributes": {"challenges": row["attributes"].split()}, "flags": flags}
        return base.annotated(name, dataset, folder / "groundtruth.txt", folder / "img", 1, **facts)

    if variant != "extension":
        return base.build_all(dataset, root, LAYOUT, base.read_table("lasot"), build)
    found = sorted(folder.parent.name for folder in root.glob("*/*-*/img")) if root else []
    return base.build_all(dataset, root, LAYOUT, [{"name": name, "attributes": ""} for name in found], build)
