"""Annotated photographs as videos of one frame: sets in the layouts of Pascal VOC and CUB, and parts of their objects.

They play the role of COCO in the published DiMP training: one object in independently jittered, scaled and coloured
crops. Objects that fill the picture, or are too small or too thin, are skipped.
"""
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import NamedTuple

import cv2
import numpy as np

from ltr.dataset.base import DatasetNotFoundError, Track, VideoDataset, read_rgb

MINIMUM_SIDE = 20.0  # pixels
AREA_RANGE = (0.001, 0.3)  # fraction of the image
MAXIMUM_ASPECT = 6.0
PART_RANGE = (0.35, 0.75)  # width and height of a part as a fraction of the object's


def is_usable(box: np.ndarray, width: int, height: int, minimum_side: float = MINIMUM_SIDE) -> bool:
    """Whether a box [x, y, w, h] has a size and shape worth training on."""
    w, h = box[2:]
    if not np.isfinite(box).all() or min(w, h) < minimum_side or max(w / h, h / w) > MAXIMUM_ASPECT:
        return False
    return bool(AREA_RANGE[0] <= w * h / (width * height) <= AREA_RANGE[1])


class StillObject(NamedTuple):
    """One annotated object: its photograph, its box [x, y, w, h] and its class."""

    path: Path
    box: tuple[float, float, float, float]
    kind: str


class Stills(VideoDataset):
    """Objects in photographs."""

    is_video = False

    def __init__(self, name: str, objects: list[StillObject]) -> None:
        self.name = name
        self.files = [item.path for item in objects]
        self.boxes = np.array([item.box for item in objects], np.float32).reshape(-1, 4)
        self.kinds = np.array([item.kind for item in objects], str)

    def __len__(self) -> int:
        return len(self.files)

    def track(self, index: int) -> Track:
        return Track(self.boxes[index : index + 1], np.ones(1, bool))

    def frames(self, index: int, frame_ids: list[int]) -> list[np.ndarray]:
        image = read_rgb(self.files[index])
        return [image for _ in frame_ids]

    def another_photograph(self, rng: np.random.Generator) -> np.ndarray:
        return read_rgb(self.files[int(rng.integers(len(self.files)))])

    def another_of_its_kind(self, index: int, rng: np.random.Generator) -> np.ndarray | None:
        """A picture (h, w, 3) of another object of the same class, from another photograph."""
        others = np.flatnonzero(self.kinds == self.kinds[index])
        for other in rng.choice(others, min(len(others), 5), replace=False):
            if self.files[other] != self.files[index]:
                image, (x, y, w, h) = read_rgb(self.files[other]), self.boxes[other].round().astype(int)
                return image[max(y, 0) : y + h, max(x, 0) : x + w]
        return None


class VocStills(Stills):
    """Objects in all pairs of folders ``Annotations/*.xml`` and ``JPEGImages/*.jpg`` below `root`.

    Args:
        root: folder with one or more sets in VOC's layout.
        parts: use the annotated parts of people (heads, hands, feet) instead of whole objects.
    """

    def __init__(self, root: Path, parts: bool = False) -> None:
        folders = [f for f in sorted(Path(root).glob("**/Annotations")) if (f.parent / "JPEGImages").is_dir()]
        files = [path for folder in folders for path in sorted(folder.glob("*.xml"))]
        objects = [item for path in files for item in _read_voc(path, parts)]
        if not objects:
            raise DatasetNotFoundError(f"no usable objects in Annotations/*.xml next to JPEGImages below {root}")
        super().__init__("voc parts" if parts else "voc", objects)


def _read_voc(path: Path, parts: bool) -> list[StillObject]:
    tree = ElementTree.parse(path).getroot()
    width, height = (int(float(tree.findtext(f"size/{side}") or 0)) for side in ("width", "height"))
    image = path.parent.parent / "JPEGImages" / f"{path.stem}.jpg"
    if not width or not height or not image.is_file():
        return []
    found = []
    for node in tree.iter("object"):
        if not parts and "1" in (node.findtext("difficult"), node.findtext("truncated")):
            continue
        for owner in node.iter("part") if parts else [node]:
            left, top, right, bottom = (float(owner.findtext(f"bndbox/{k}")) for k in ("xmin", "ymin", "xmax", "ymax"))
            box = (left - 1, top - 1, right - left + 1, bottom - top + 1)  # VOC counts from 1 and includes both ends
            if is_usable(np.array(box), width, height):
                found.append(StillObject(image, box, owner.findtext("name") or "unknown"))
    return found


class CubStills(Stills):
    """Caltech-UCSD Birds: ``images.txt``, ``bounding_boxes.txt`` and ``images``; missing images are skipped."""

    def __init__(self, root: Path) -> None:
        root = Path(root)
        if not (root / "bounding_boxes.txt").is_file():
            raise DatasetNotFoundError(f"{root / 'bounding_boxes.txt'} is missing: give the folder CUB_200_2011")
        files = dict(line.split() for line in (root / "images.txt").read_text().splitlines() if line.strip())
        objects = []
        for line in (root / "bounding_boxes.txt").read_text().splitlines():
            number, *values = line.split()
            path = root / "images" / files[number]
            small = cv2.imread(str(path), cv2.IMREAD_REDUCED_GRAYSCALE_8) if path.is_file() else None
            box = tuple(float(value) for value in values)
            if small is not None and is_usable(np.array(box), small.shape[1] * 8, small.shape[0] * 8):
                objects.append(StillObject(path, box, "bird"))
        super().__init__("cub", objects)


class StillParts(VideoDataset):
    """A random part of each object as the target; so a network learns to fit the marked region, not whole objects."""

    is_video = False

    def __init__(self, stills: Stills) -> None:
        self.stills, self.name = stills, f"parts of {stills.name}"
        self.indices = np.flatnonzero(stills.boxes[:, 2:].min(1) * PART_RANGE[0] >= MINIMUM_SIDE)

    def __len__(self) -> int:
        return len(self.indices)

    def track(self, index: int) -> Track:
        box = self.stills.boxes[self.indices[index]]
        rng = np.random.default_rng([7, int(self.indices[index])])
        size = box[2:] * rng.uniform(*PART_RANGE, 2)
        corner = box[:2] + (box[2:] - size) * rng.random(2)
        return Track(np.concatenate([corner, size])[None].astype(np.float32), np.ones(1, bool))

    def frames(self, index: int, frame_ids: list[int]) -> list[np.ndarray]:
        return self.stills.frames(int(self.indices[index]), frame_ids)

    def another_photograph(self, rng: np.random.Generator) -> np.ndarray:
        return self.stills.another_photograph(rng)
