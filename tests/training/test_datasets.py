"""Readers of training sets, on tiny folders in each set's layout."""
from __future__ import annotations

import json
import pickle
from pathlib import Path

import cv2
import numpy as np
import pytest

from ltr.dataset.base import DatasetNotFoundError, VideoDataset
from ltr.dataset.coco import CocoStills
from ltr.dataset.got10k import Got10k
from ltr.dataset.imagenetvid import ImagenetVid
from ltr.dataset.lasot import Lasot
from ltr.dataset.split import read_split
from ltr.dataset.trackingnet import TrackingNet

BOXES = np.array([[2, 3, 10, 8], [3, 3, 10, 8], [4, 3, 10, 8]])


def write_frames(names: list[Path]) -> None:
    """Frames of uniform brightness 10, 20, 30 …, so that each can be recognised."""
    for number, path in enumerate(names, 1):
        path.parent.mkdir(parents=True, exist_ok=True)
        cv2.imwrite(str(path), np.full((32, 48, 3), 10 * number, np.uint8))


def write_boxes(path: Path, boxes: np.ndarray = BOXES, delimiter: str = ",") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savetxt(path, boxes, fmt="%g", delimiter=delimiter)


def brightness(dataset: VideoDataset, frame: int) -> int:
    return round(float(dataset.frames(0, [frame])[0].mean()))


def test_got10k(tmp_path: Path) -> None:
    folder = tmp_path / "train" / "GOT-10k_Train_000001"
    write_frames([folder / f"{t:08d}.jpg" for t in (1, 2, 3)])
    write_boxes(folder / "groundtruth.txt")
    (folder / "absence.label").write_text("0\n1\n0\n")
    (folder / "cover.label").write_text("8\n8\n0\n")
    dataset = Got10k(tmp_path)
    assert np.array_equal(dataset.track(0).boxes, BOXES)
    assert dataset.track(0).visible.tolist() == [True, False, False]
    assert brightness(dataset, 1) == 20


def test_lasot_needs_its_training_list(tmp_path: Path) -> None:
    folder = tmp_path / "cat" / "cat-2"
    write_frames([folder / "img" / f"{t:08d}.jpg" for t in (1, 2, 3)])
    write_boxes(folder / "groundtruth.txt")
    (folder / "full_occlusion.txt").write_text("0,1,0\n")
    (folder / "out_of_view.txt").write_text("0,0,0\n")
    with pytest.raises(DatasetNotFoundError, match="training_set.txt"):
        Lasot(tmp_path)
    (tmp_path / "training_set.txt").write_text("cat-2\n")
    dataset = Lasot(tmp_path)
    assert dataset.track(0).visible.tolist() == [True, False, True]
    assert brightness(dataset, 2) == 30


def test_trackingnet(tmp_path: Path) -> None:
    write_frames([tmp_path / "TRAIN_2" / "frames" / "abc" / f"{t}.jpg" for t in (0, 1, 2)])
    write_boxes(tmp_path / "TRAIN_2" / "anno" / "abc.txt")
    dataset = TrackingNet(tmp_path)
    assert len(dataset) == 1 and brightness(dataset, 0) == 10
    with pytest.raises(DatasetNotFoundError, match="TRAIN_"):
        TrackingNet(tmp_path, parts=(7,))


def test_coco_leaves_out_crowds_and_small_objects(tmp_path: Path) -> None:
    write_frames([tmp_path / "train2017" / "1.jpg"])
    content = {
        "images": [{"id": 5, "file_name": "1.jpg"}],
        "annotations": [
            {"image_id": 5, "bbox": [1, 2, 25, 22], "iscrowd": 0},
            {"image_id": 5, "bbox": [1, 2, 25, 22], "iscrowd": 1},
            {"image_id": 5, "bbox": [1, 2, 5, 22], "iscrowd": 0},
        ],
    }
    (tmp_path / "annotations").mkdir()
    (tmp_path / "annotations" / "instances_train2017.json").write_text(json.dumps(content))
    dataset = CocoStills(tmp_path)
    assert len(dataset) == 1 and not dataset.is_video
    assert len(dataset.frames(0, [0, 0, 0])) == 3


def test_imagenetvid_makes_a_track_of_each_object(tmp_path: Path) -> None:
    video = Path("ILSVRC2015_VID_train_0000") / "video_1"
    write_frames([tmp_path / "Data" / "VID" / "train" / video / f"{t:06d}.JPEG" for t in range(3)])
    for t in range(3):
        objects = ["<object><trackid>0</trackid><bndbox><xmin>1</xmin><ymin>2</ymin><xmax>10</xmax><ymax>9</ymax>"]
        if t != 1:  # the second object leaves for a frame
            objects.append(objects[0].replace("<trackid>0", "<trackid>1"))
        text = "".join(o + "</bndbox></object>" for o in objects)
        path = tmp_path / "Annotations" / "VID" / "train" / video / f"{t:06d}.xml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"<annotation>{text}</annotation>")
    dataset = ImagenetVid(tmp_path, tmp_path / "index.json", minimum_length=2)
    assert len(dataset) == 2
    assert dataset.track(0).boxes[0].tolist() == [1, 2, 10, 8]
    assert dataset.track(1).visible.tolist() == [True, False, True]
    assert len(ImagenetVid(tmp_path, tmp_path / "index.json", minimum_length=3)) == 1  # now from the index


def test_a_split_states_the_origin_of_its_sequences(tmp_path: Path) -> None:
    (tmp_path / "split.txt").write_text("# two sequences\nVOT/car\nOTB/car origin=1  # from MATLAB\n")
    split = read_split(str(tmp_path / "split.txt"))
    assert split == ["VOT/car", "OTB/car"]
    for chosen in (split, split[:], pickle.loads(pickle.dumps(split))):
        assert chosen.origins == {"VOT/car": 0, "OTB/car": 1}
    for line, message in (("OTB/car origin=2", "line 1.*origin must be 0"), ("OTB/car orgin=1", "line 1.*'orgin=1'")):
        (tmp_path / "split.txt").write_text(line)
        with pytest.raises(ValueError, match=message):
            read_split(str(tmp_path / "split.txt"))


def test_the_packages_splits_state_that_otb_counts_from_one() -> None:
    for name in ("real_validation", "validation_a", "validation_b"):
        split = read_split(name)
        assert {sequence: origin for sequence, origin in split.origins.items() if origin} == {
            sequence: 1 for sequence in split if sequence.startswith("OTB/")
        }


def test_unknown_split_lists_the_known() -> None:
    with pytest.raises(FileNotFoundError, match="real_validation"):
        read_split("real_test")
