"""Temple Color 128: 129 targets."""
from pathlib import Path

from pytracking.evaluation.datasets import base
from pytracking.evaluation.sequence import Sequence, SequenceList

LAYOUT = "<video>/img/0001.jpg ... and <video>/<video>_gt.txt (folders may also be called tpl_<video>)"


def load(root: Path | None, variant: str | None = None) -> SequenceList:
    """Loads all sequences, named ``tpl_<video>``; variant "nootb" leaves out those that are also in OTB."""
    rows = [row for row in base.read_table("tpl") if not (variant == "nootb" and row["in_otb"])]

    def build(row: dict[str, str]) -> Sequence:
        video, first, last = row["name"], int(row["first"]), int(row["last"])
        original = row["annotation"].removesuffix("_gt.txt")  # Yo_yos_ce1 is downloaded as Yo-yos_ce1
        folder = base.first_existing(video, root / f"tpl_{video}", root / video, root / original)
        return base.annotated(video, "tpl", folder / row["annotation"], folder / "img", first, last, prefix="tpl_")

    return base.build_all("tpl_nootb" if variant else "tpl", root, LAYOUT, rows, build)
