"""GOT-10k: the test and validation sets, and the part of the training set that was used to validate DiMP."""
import re
from pathlib import Path

import numpy as np

from pytracking.evaluation.datasets import base
from pytracking.evaluation.sequence import Sequence, SequenceList

LAYOUT = "{folder}/list.txt, {folder}/<sequence>/00000001.jpg ... and {folder}/<sequence>/groundtruth.txt"
SEQUENCES = 180  # in the test set, and in the validation set


def load(root: Path | None, variant: str | None = None) -> SequenceList:
    """Loads variant "test" (first boxes only), "val" or "ltrval" (1401 sequences of the training set)."""
    folder = "train" if variant == "ltrval" else variant
    dataset, layout = f"got10k_{variant}", LAYOUT.format(folder=folder)
    home = root / folder if root else None
    return base.build_all(dataset, home, layout, _names(home, variant), lambda name: _build(home / name))


def _names(home: Path | None, variant: str | None) -> list[str]:
    if variant == "ltrval":
        lines = [int(line) for line in base.read_names("got10k_ltrval")]  # 0-based line in the training set's own list
        own_list = home / "list.txt" if home else None
        names = own_list.read_text(encoding="utf-8").split() if own_list and own_list.is_file() else []
        return [names[line] if line < len(names) else f"GOT-10k_Train_{line + 1:06d}" for line in lines]
    return [f"GOT-10k_{variant.capitalize()}_{number:06d}" for number in range(1, SEQUENCES + 1)]


def _build(folder: Path) -> Sequence:
    name = folder.name
    annotation = base.first_existing(name, folder / "groundtruth.txt")
    boxes = base.read_numbers(annotation, 4)
    frames = base.frames_of(name, folder, count=len(boxes) if len(boxes) > 1 else None)
    absence, cover = folder / "absence.label", folder / "cover.label"
    facts = _meta(folder / "meta_info.ini")
    if cover.exists() and len(boxes) > 1:
        facts["cover"] = base.read_numbers(cover, 1)[:, 0]  # 0 (hidden) ... 8 (completely visible)
    visible = ~base.read_flags(absence) if absence.exists() and len(boxes) > 1 else None
    return Sequence(
        name,
        frames,
        "got10k",
        boxes,
        target_visible=visible,
        object_class=facts.pop("object_class", None),
        attributes=facts,
        annotation_file=annotation,
    )


def _meta(path: Path) -> dict[str, object]:
    """Reads the image size and the object class from a sequence's description."""
    if not path.exists():
        return {}
    text = path.read_text(encoding="utf-8")
    facts: dict[str, object] = {}
    size = re.search(r"resolution:\s*\((\d+),\s*(\d+)\)", text)
    kind = re.search(r"object_class:\s*(.+)", text)
    if size:
        facts["image_size"] = tuple(np.array(size.groups(), dtype=float))
    if kind:
        facts["object_class"] = kind.group(1).strip()
    return facts
