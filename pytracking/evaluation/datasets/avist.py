"""AVisT: 120 videos with poor visibility; the sequence names are read from its folder."""
from pathlib import Path

from pytracking.evaluation.datasets import base
from pytracking.evaluation.sequence import Sequence, SequenceList

LAYOUT = (
    "sequences/<video>/img_00001.jpg ..., anno/<video>.txt, full_occlusion/<video>_full_occlusion.txt and "
    "out_of_view/<video>_out_of_view.txt"
)


def load(root: Path | None, variant: str | None = None) -> SequenceList:
    """Loads all sequences; the target is visible if neither of its two flags is set."""

    def build(name: str) -> Sequence:
        flags = tuple(root / kind / f"{name}_{kind}.txt" for kind in ("full_occlusion", "out_of_view"))
        return base.annotated(name, "avist", root / "anno" / f"{name}.txt", root / "sequences" / name, 1, flags=flags)

    names = sorted(path.stem for path in (root / "anno").glob("*.txt")) if root else []
    return base.build_all("avist", root, LAYOUT, names, build)
