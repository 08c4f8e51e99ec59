"""OxUvA: long videos with a label about every 30 frames; labels may say that the target is absent."""
import csv
from collections import defaultdict
from pathlib import Path

import numpy as np

from pytracking.evaluation.datasets import base
from pytracking.evaluation.sequence import Sequence, SequenceList
from pytracking.utils.image_io import read_image

LAYOUT = "images/{split}/<video>/000000.jpeg ... with tasks/{split}.csv and, for dev, annotations/dev.csv"
TRACKS = {"dev": 200, "test": 166}

Track = tuple[str, str]  # video, object
Label = tuple[int, bool, list[float]]  # frame number, present, [xmin, xmax, ymin, ymax] relative to the image


def load(root: Path | None, variant: str | None = None) -> SequenceList:
    """Loads all tracks of variant "dev" or "test".

    A track is called ``<video>_<object>_frames[<first>:<end>]``. Boxes are NaN in frames without a label or with the
    label "absent"; ``attributes`` holds ``label_frames`` (0-based from the first frame) and ``label_present``.
    """
    split = variant or "dev"
    layout = LAYOUT.format(split=split)
    tasks, labels = [], {}
    if root and root.is_dir():
        tasks = _read_csv(root / "tasks" / f"{split}.csv", 8, layout)
        labels = _labels(root / "annotations" / "dev.csv", layout) if split == "dev" else {}
    sequences = base.build_all(
        f"oxuva_{split}", root, layout, tasks, lambda task: _build(root / "images" / split, task, labels)
    )
    if len(sequences) != TRACKS[split]:
        found = f": {len(sequences)} tracks in {root}/tasks/{split}.csv, expected {TRACKS[split]}"
        raise base.IncompleteDatasetError(f"oxuva_{split}", found, layout, sequences, TRACKS[split])
    return sequences


def _build(images: Path, task: list[str], labels: dict[Track, list[Label]]) -> Sequence:
    video, target, first, last = task[0], task[1], int(task[2]), int(task[3])
    name = f"{video}_{target}_frames[{first:06d}:{last + 1:06d}]"
    frames = base.frames_of(name, images / video, first, last - first + 1)
    height, width = read_image(frames[0]).shape[:2]
    known = [label for label in labels.get((video, target), []) if first <= label[0] <= last]
    boxes = np.full((len(frames) if labels else 1, 4), np.nan)
    for number, present, corners in known:
        if present:
            boxes[number - first] = _pixels(corners, width, height)
    boxes[0] = _pixels([float(value) for value in task[4:8]], width, height)
    facts = {
        "video": video,
        "object": target,
        "first_frame": first,
        "image_size": (float(width), float(height)),
        "label_frames": np.array([number - first for number, _, _ in known], dtype=int),
        "label_present": np.array([present for _, present, _ in known], dtype=bool),
    }
    return Sequence(name, frames, "oxuva", boxes, attributes=facts)


def _pixels(corners: list[float], width: int, height: int) -> list[float]:
    xmin, xmax, ymin, ymax = corners
    return [xmin * width, ymin * height, (xmax - xmin) * width, (ymax - ymin) * height]


def _labels(path: Path, layout: str) -> dict[Track, list[Label]]:
    labels = defaultdict(list)
    for row in _read_csv(path, 12, layout):
        # video, object, class number, class, contains cuts, always visible, frame, presence, xmin, xmax, ymin, ymax
        labels[row[0], row[1]].append((int(row[6]), row[7] == "present", [float(value) for value in row[8:12]]))
    return labels


def _read_csv(path: Path, columns: int, layout: str) -> list[list[str]]:
    if not path.is_file():
        raise base.IncompleteDatasetError("oxuva", f": no {path}", layout)
    with open(path, encoding="utf-8", newline="") as stream:
        rows = [row for row in csv.reader(stream) if row]
    for number, row in enumerate(rows, start=1):
        if len(row) != columns:
            raise base.IncompleteDatasetError(
                "oxuva", f": {path}, line {number}: {len(row)} columns, expected {columns}", layout
            )
    return rows
