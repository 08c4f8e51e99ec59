"""Photographs and masks as training sources, on tiny folders in each set's layout; what is done to their crops."""
from __future__ import annotations

import json
from pathlib import Path

import cv2
import numpy as np
import pytest

from ltr.data.augmentation import Augmentation, covered, line_kernel
from ltr.data.crops import CropGeometry, Jitter, box_in_crop, crop_region, jittered_region
from ltr.dataset.base import DatasetNotFoundError
from ltr.dataset.coco import CocoStills, coco_parts
from ltr.dataset.masks import MaskVideos, mask_box
from ltr.dataset.split import read_split
from ltr.dataset.stills import CubStills, StillParts, VocStills, is_usable

SIZE = (200, 300)  # rows, columns


def write_image(path: Path, brightness: int = 90) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    cv2.imwrite(str(path), np.full((*SIZE, 3), brightness, np.uint8))


def voc_object(
    box: tuple[int, int, int, int], flags: str = "", part: tuple[int, int, int, int] | None = None, kind: str = "dog"
) -> str:
    def corners(values: tuple[int, int, int, int]) -> str:
        names = ("xmin", "ymin", "xmax", "ymax")
        inner = "".join(f"<{name}>{value}</{name}>" for name, value in zip(names, values, strict=True))
        return f"<bndbox>{inner}</bndbox>"

    inside = f"<part><name>head</name>{corners(part)}</part>" if part else ""
    return f"<object><name>{kind}</name>{flags}{corners(box)}{inside}</object>"


def write_voc(root: Path, name: str, objects: list[str], size: str | None = None) -> None:
    write_image(root / "JPEGImages" / f"{name}.jpg")
    size = "<size><width>300</width><height>200</height></size>" if size is None else size
    path = root / "Annotations" / f"{name}.xml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"<annotation>{size}{''.join(objects)}</annotation>")


def test_voc_takes_whole_objects_and_counts_from_zero(tmp_path: Path) -> None:
    whole = voc_object((11, 21, 60, 80), part=(21, 31, 45, 55))
    left_out = [
        voc_object((11, 21, 60, 80), "<truncated>1</truncated>"),
        voc_object((11, 21, 60, 80), "<difficult>1</difficult>"),
        voc_object((11, 21, 25, 80)),  # narrower than 20 pixels
    ]
    write_voc(tmp_path / "a", "000001", [whole, *left_out])
    write_voc(tmp_path / "b", "000002", [voc_object((50, 50, 90, 90))])
    write_voc(tmp_path / "b", "000003", [voc_object((50, 50, 90, 90))], size="")
    dataset = VocStills(tmp_path)
    assert len(dataset) == 2 and not dataset.is_video
    assert dataset.track(0).boxes.tolist() == [[10, 20, 50, 60]]
    assert [frame.shape for frame in dataset.frames(1, [0, 0])] == [(*SIZE, 3)] * 2
    assert VocStills(tmp_path, parts=True).boxes.tolist() == [[20, 30, 25, 25]]
    with pytest.raises(DatasetNotFoundError, match="JPEGImages"):
        VocStills(tmp_path / "a" / "JPEGImages")


def test_another_of_its_kind_is_alike_and_from_another_photograph(tmp_path: Path) -> None:
    write_voc(tmp_path, "1", [voc_object((11, 21, 60, 80)), voc_object((90, 21, 130, 60))])
    write_voc(tmp_path, "2", [voc_object((31, 41, 90, 70)), voc_object((11, 21, 60, 80), kind="cat")])
    stills = VocStills(tmp_path)
    assert stills.kinds.tolist() == ["dog", "dog", "dog", "cat"]
    for seed in range(5):
        assert stills.another_of_its_kind(0, np.random.default_rng(seed)).shape == (30, 60, 3)  # the dog of 2
    assert stills.another_of_its_kind(3, np.random.default_rng(0)) is None


def test_parts_lie_in_their_objects_and_stay_the_same(tmp_path: Path) -> None:
    write_voc(tmp_path, "1", [voc_object((11, 21, 150, 140)), voc_object((200, 21, 230, 60))])
    stills = VocStills(tmp_path)
    parts = StillParts(stills)
    assert len(stills) == 2 and len(parts) == 1  # parts of the small one would show nothing
    x, y, w, h = parts.track(0).boxes[0]
    assert x >= 10 and y >= 20 and x + w <= 150 and y + h <= 140
    assert 0.35 * 140 <= w <= 0.75 * 140 and 0.35 * 120 <= h <= 0.75 * 120
    assert np.array_equal(parts.track(0).boxes, StillParts(stills).track(0).boxes)


def test_cub_uses_the_images_that_are_there(tmp_path: Path) -> None:
    write_image(tmp_path / "images" / "crow" / "1.jpg")
    (tmp_path / "images.txt").write_text("1 crow/1.jpg\n2 crow/2.jpg\n")
    (tmp_path / "bounding_boxes.txt").write_text("1 20.0 30.0 60.0 50.0\n2 20.0 30.0 60.0 50.0\n")
    dataset = CubStills(tmp_path)
    assert len(dataset) == 1 and dataset.track(0).boxes.tolist() == [[20, 30, 60, 50]]
    with pytest.raises(DatasetNotFoundError, match="CUB_200_2011"):
        CubStills(tmp_path / "images")


def test_parts_of_coco_are_joined_and_hidden_objects_left_out(tmp_path: Path) -> None:
    good = {"image_id": 1, "bbox": [20, 30, 60, 50], "area": 2000.0}
    content = {
        "images": [{"id": 1, "file_name": "1.jpg", "width": 300, "height": 200}],
        "annotations": [good, good | {"area": 300.0}, good | {"bbox": [0, 0, 290, 190]}],
    }
    for name, images in (("a", "train2017"), ("b", "images/train2017")):
        write_image(tmp_path / name / images / "1.jpg")
        (tmp_path / name / "annotations").mkdir()
        (tmp_path / name / "annotations" / "instances_train2017.json").write_text(json.dumps(content))
    assert len(CocoStills(tmp_path / "b")) == 3 and len(CocoStills(tmp_path / "b", strict=True)) == 1
    joined = coco_parts(tmp_path)
    assert len(joined) == 1, "the same image in both parts counts once"
    assert joined.frames(0, [0])[0].shape == (*SIZE, 3)


def test_usable_boxes() -> None:
    assert is_usable(np.array([20.0, 20, 40, 60]), 300, 200)
    for box in ([20, 20, 19, 60], [20, 20, 180, 25], [10, 10, 250, 170], [np.nan, 0, 40, 60]):
        assert not is_usable(np.array(box, float), 300, 200)


def test_masks_become_boxes(tmp_path: Path) -> None:
    mask = np.zeros(SIZE, np.uint8)
    mask[40:90, 100:160] = 255
    for t, content in enumerate([mask, np.zeros_like(mask)]):
        write_image(tmp_path / "JPEGImages" / "480p" / "cow" / f"{t:05d}.jpg", 10 * t + 10)
        path = tmp_path / "Annotations" / "480p" / "cow" / f"{t:05d}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        cv2.imwrite(str(path), content)
    write_image(tmp_path / "JPEGImages" / "480p" / "dog" / "00000.jpg")
    dataset = MaskVideos(tmp_path, without=["dog"])
    assert dataset.videos == ["cow"] and dataset.is_video
    assert dataset.track(0).boxes[0].tolist() == [100, 40, 60, 50]
    assert dataset.track(0).visible.tolist() == [True, False]
    assert dataset.frames(0, [1])[0].mean() == pytest.approx(20, abs=1)
    assert np.isnan(mask_box(np.zeros((4, 4)))).all()
    with pytest.raises(DatasetNotFoundError, match="horse"):
        MaskVideos(tmp_path, only=["horse"])


def test_validation_halves_share_nothing_and_cover_all() -> None:
    first, second, whole = (read_split(name) for name in ("validation_a", "validation_b", "real_validation"))
    assert len(first) == len(second) == 12
    assert not set(first) & set(second) and sorted(first + second) == sorted(whole)
    assert len(set(read_split("davis_held_out"))) == 10


@pytest.mark.parametrize("side", [40.0, 150.0])  # magnified, and shrunk by area first
def test_stretched_crop_shows_the_target_where_its_box_says(side: float) -> None:
    image = np.zeros((400, 500, 3), np.uint8)
    box = np.array([180.0, 120.0, side, 0.7 * side])
    image[120 : int(120 + 0.7 * side), 180 : int(180 + side)] = 255
    for seed in range(5):
        geometry, jitter = CropGeometry(output_side=128, search_area=3.0), Jitter(centre=0.4, scale=0.1, aspect=0.5)
        centre, sides = jittered_region(box, geometry, jitter, np.random.default_rng(seed))
        assert sides[0] != sides[1] and sides.prod() ** 0.5 == pytest.approx(3 * (0.7**0.5) * side, rel=0.5)
        crop, factor = crop_region(image, centre, sides, 128)
        rows, columns = np.where(crop[..., 0] > 127)
        left, top, width, height = box_in_crop(box, centre, factor, 128)
        found = np.array([columns.min(), rows.min(), columns.max() + 1, rows.max() + 1])
        assert np.abs(found - np.clip([left, top, left + width, top + height], 0, 128)).max() <= 1.5


def test_cover_hides_at_most_half_of_the_target() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        crop = np.full((64, 64, 3), 50, np.uint8)
        crop[20:40, 10:30] = 200
        after = covered(crop, np.array([10.0, 20, 20, 20]), rng)
        inside, outside = after[20:40, 10:30, 0], after[..., 0].copy()
        outside[20:40, 10:30] = 50
        assert (outside == 50).all() and (inside == 200).mean() >= 0.45


def test_every_change_keeps_size_and_type_and_changes_something() -> None:
    crop = np.random.default_rng(1).integers(30, 220, (64, 64, 3), dtype=np.uint8)
    box = np.array([10.0, 20, 20, 20])
    for name in ("blur", "colour", "contrast", "motion", "coarse", "cover"):
        strength = 0.3 if name in ("colour", "contrast") else 1.0
        changes = Augmentation(flip=0, grey=0, brightness=0, **{name: strength})
        after, same = changes.apply(crop, box, (False, False), np.random.default_rng(2))
        assert after.shape == crop.shape and after.dtype == np.uint8 and np.array_equal(same, box), name
        assert not np.array_equal(after, crop), name
    unchanged, _ = Augmentation(brightness=0).apply(crop, box, (False, False), np.random.default_rng(2))
    assert np.array_equal(unchanged, crop)
    assert line_kernel(7, 0.3).sum() == pytest.approx(1)
