"""ImageNet-VID's training videos, one track per object: ``{Annotations,Data}/VID/train/<part>/<video>/000000.*``."""
import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
from tqdm import tqdm

from ltr.dataset.base import DatasetNotFoundError, Track, VideoDataset, read_rgb, usable_boxes
from ltr.files import write_text


class ImagenetVid(VideoDataset):
    """Tracks of at least `minimum_length` frames.

    Reading the annotations (one XML file per frame) is slow, so the first use saves them to `index_file`.
    """

    name = "imagenetvid"

    def __init__(self, root: Path, index_file: Path, minimum_length: int = 20) -> None:
        self.root = Path(root)
        if not index_file.is_file():
            tracks = _read_annotations(self.root)
            write_text(index_file, json.dumps(tracks))
        tracks = json.loads(index_file.read_text())
        self.tracks = [t for t in tracks if sum(box is not None for box in t["boxes"]) >= minimum_length]
        if not self.tracks:
            raise DatasetNotFoundError(f"{index_file} has no track of {minimum_length} frames: delete it, check {root}")

    def __len__(self) -> int:
        return len(self.tracks)

    def track(self, index: int) -> Track:
        boxes = np.array([box or [np.nan] * 4 for box in self.tracks[index]["boxes"]], np.float32)
        return Track(boxes, usable_boxes(boxes))

    def frames(self, index: int, frame_ids: list[int]) -> list[np.ndarray]:
        folder = self.root / "Data" / "VID" / "train" / self.tracks[index]["video"]
        return [read_rgb(folder / f"{t:06d}.JPEG") for t in frame_ids]


def _read_annotations(root: Path) -> list[dict]:
    base = root / "Annotations" / "VID" / "train"
    videos = sorted(path for path in base.glob("*/*") if path.is_dir())
    if not videos:
        raise DatasetNotFoundError(f"no <part>/<video> below {base}")
    tracks = []
    for folder in tqdm(videos, desc="reading ImageNet-VID", unit="video"):
        files = sorted(folder.glob("*.xml"))
        boxes_by_object: dict[str, list] = {}
        for t, file in enumerate(files):
            for item in ElementTree.parse(file).getroot().iter("object"):
                boxes = boxes_by_object.setdefault(item.findtext("trackid"), [None] * len(files))
                x1, y1, x2, y2 = (float(item.findtext(f"bndbox/{edge}")) for edge in ("xmin", "ymin", "xmax", "ymax"))
                boxes[t] = [x1, y1, x2 - x1 + 1, y2 - y1 + 1]
        video = folder.relative_to(base).as_posix()
        tracks += [{"video": video, "boxes": boxes} for _, boxes in sorted(boxes_by_object.items())]
    return tracks
