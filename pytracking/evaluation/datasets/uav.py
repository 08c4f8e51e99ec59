"""UAV123 (123 clips of 91 videos), and its version at 10 frames per second."""
from pathlib import Path

from pytracking.evaluation.datasets import base
from pytracking.evaluation.sequence import Sequence, SequenceList

FULL_RATE, TEN_FPS = "UAV123", "UAV123_10fps"
RATE_RATIO = 3  # the 10 fps version keeps frames 1, 4, 7, ... of the 30 fps one


def load(root: Path | None, variant: str | None = None) -> SequenceList:
    """Loads all clips, at 30 or (variant "10fps") 10 fps; clips of one video share its frames and may overlap."""
    part = TEN_FPS if variant == "10fps" else FULL_RATE
    dataset, prefix = ("uav123_10fps", "uav10fps_") if part == TEN_FPS else ("uav", "uav_")
    layout = f"data_seq/{part}/<video>/000001.jpg ... and anno/{part}/<clip>.txt"

    def build(row: dict[str, str]) -> Sequence:
        clip, first, last = row["name"], int(row["first"]), int(row["last"])
        if part == TEN_FPS:
            first, last = (first - 1) // RATE_RATIO + 1, (last - 1) // RATE_RATIO + 1
        annotation, images = root / "anno" / part / f"{clip}.txt", root / "data_seq" / part / row["folder"]
        facts = {"object_class": row["class"], "attributes": {"challenges": row["attributes"].split()}}
        return base.annotated(clip, dataset, annotation, images, first, last, prefix=prefix, **facts)

    return base.build_all(dataset, root, layout, base.read_table("uav123"), build)
