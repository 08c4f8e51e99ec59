"""COCO's objects as videos of one frame: ``annotations/instances_<split>.json`` and ``<split>/*.jpg``."""
from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from ltr.dataset.base import DatasetNotFoundError
from ltr.dataset.stills import MINIMUM_SIDE, StillObject, Stills, is_usable


class CocoStills(Stills):
    """Every annotated object that is not a crowd and large enough; with `strict` only whole ones that fit a crop."""

    def __init__(
        self, root: Path, split: str = "train2017", minimum_side: float = MINIMUM_SIDE, strict: bool = False
    ) -> None:
        path = Path(root) / "annotations" / f"instances_{split}.json"
        if not path.is_file():
            raise DatasetNotFoundError(f"{path} is absent: name the folder that contains COCO's `annotations`")
        folders = [Path(root) / split, Path(root) / "images" / split]
        folder = next((f for f in folders if f.is_dir()), folders[0])
        content = json.loads(path.read_text())
        images = {image["id"]: image for image in content["images"]}
        objects = []
        for annotation in content["annotations"]:
            image, box = images[annotation["image_id"]], annotation["bbox"]
            if annotation.get("iscrowd") or min(box[2:]) < minimum_side:
                continue
            if strict and not _is_whole(annotation, image, folder):
                continue
            objects.append(StillObject(folder / image["file_name"], tuple(box), str(annotation.get("category_id"))))
        super().__init__("coco", objects)


def _is_whole(annotation: dict, image: dict, folder: Path) -> bool:
    """Not hidden for the most part, of a fit size, and its image is there (published parts of COCO lack some)."""
    width, height = annotation["bbox"][2:]
    seen = annotation.get("area") or width * height
    usable = is_usable(np.array(annotation["bbox"], float), image["width"], image["height"])
    return usable and seen >= 0.25 * width * height and (folder / image["file_name"]).is_file()


def coco_parts(root: Path) -> Stills:
    """All sets in COCO's layout below `root` as one, each image once."""
    objects, seen = [], set()
    for path in sorted(Path(root).glob("**/annotations/instances_*.json")):
        part = CocoStills(path.parent.parent, path.stem.removeprefix("instances_"), strict=True)
        fresh = {file.name for file in part.files} - seen
        found = map(StillObject, part.files, part.boxes.tolist(), part.kinds.tolist())
        objects += [one for one in found if one.path.name in fresh]
        seen |= fresh
    if not objects:
        raise DatasetNotFoundError(f"no annotations/instances_*.json with images below {root}")
    return Stills("coco", objects)
