"""COCO's objects as videos of one frame: ``annotations/instances_<split>.json`` and ``<split>/*.jpg``."""
import json
from pathlib import Path

import numpy as np

from ltr.dataset.base import DatasetNotFoundError
from ltr.dataset.stills import MINIMUM_SIDE, StillObject, Stills, is_usable


class CocoStills(Stills):
    """All annotated objects except small ones and crowds; with `strict`, only mostly visible ones that suit a crop."""

    def __init__(self, root: Path, split: str = "train2017", strict: bool = False) -> None:
        path = Path(root) / "annotations" / f"instances_{split}.json"
        if not path.is_file():
            raise DatasetNotFoundError(f"{path} is missing: give the folder that contains COCO's `annotations`")
        folders = [Path(root) / split, Path(root) / "images" / split]
        folder = next((f for f in folders if f.is_dir()), folders[0])
        content = json.loads(path.read_text())
        images = {image["id"]: image for image in content["images"]}
        objects = []
        for annotation in content["annotations"]:
            image, box = images[annotation["image_id"]], annotation["bbox"]
            if annotation.get("iscrowd") or min(box[2:]) < MINIMUM_SIDE:
                continue
            if strict and not _is_whole(annotation, image, folder):
                continue
            objects.append(StillObject(folder / image["file_name"], tuple(box), str(annotation.get("category_id"))))
        super().__init__("coco", objects)


def _is_whole(annotation: dict, image: dict, folder: Path) -> bool:
    """Whether at least a quarter of the box is visible, its size is usable and the image exists."""
    width, height = annotation["bbox"][2:]
    visible_area = annotation.get("area") or width * height
    usable = is_usable(np.array(annotation["bbox"], float), image["width"], image["height"])
    return usable and visible_area >= 0.25 * width * height and (folder / image["file_name"]).is_file()


def coco_parts(root: Path) -> Stills:
    """Merges all sets in COCO's layout below `root`, using each image once."""
    objects, seen = [], set()
    for path in sorted(Path(root).glob("**/annotations/instances_*.json")):
        part = CocoStills(path.parent.parent, path.stem.removeprefix("instances_"), strict=True)
        new = {file.name for file in part.files} - seen
        found = map(StillObject, part.files, part.boxes.tolist(), part.kinds.tolist())
        objects += [item for item in found if item.path.name in new]
        seen |= new
    if not objects:
        raise DatasetNotFoundError(f"no annotations/instances_*.json with images below {root}")
    return Stills("coco", objects)
