"""COCO's objects as videos of one frame: ``annotations/instances_<split>.json`` and ``<split>/*.jpg``."""
from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from ltr.dataset.base import DatasetNotFoundError, Track, VideoDataset, read_rgb


class CocoStills(VideoDataset):
    """Every annotated object that is not a crowd and at least `minimum_side` pixels large."""

    name = "coco"
    is_video = False

    def __init__(self, root: Path, split: str = "train2017", minimum_side: float = 20.0) -> None:
        self.root, self.split = Path(root), split
        path = self.root / "annotations" / f"instances_{split}.json"
        if not path.is_file():
            raise DatasetNotFoundError(f"{path} is absent: name the folder that contains COCO's `annotations`")
        content = json.loads(path.read_text())
        files = {image["id"]: image["file_name"] for image in content["images"]}
        kept = [
            (files[a["image_id"]], a["bbox"])
            for a in content["annotations"]
            if not a.get("iscrowd") and min(a["bbox"][2:]) >= minimum_side
        ]
        self.files = [name for name, _ in kept]
        self.boxes = np.array([box for _, box in kept], np.float32).reshape(-1, 4)

    def __len__(self) -> int:
        return len(self.files)

    def track(self, index: int) -> Track:
        return Track(self.boxes[index : index + 1], np.ones(1, bool))

    def frames(self, index: int, frame_ids: list[int]) -> list[np.ndarray]:
        image = read_rgb(self.root / self.split / self.files[index])
        return [image for _ in frame_ids]
