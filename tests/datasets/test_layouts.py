"""Every loader on a miniature copy of its benchmark's layout, odd corners included."""
from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pytracking.evaluation.datasets import base
from pytracking.evaluation.datasets.registry import DATASETS
from tests.datasets.miniature import add_frames, add_text, load, rows


def test_otb_two_targets_frame_ranges_and_skipped_start(root: Path, lists: Path, picture: bytes) -> None:
    add_text(
        lists / "otb.csv",
        "name,folder,first,last,skip,annotation,class,attributes\n"
        "David,David,3,6,0,groundtruth_rect.txt,face,IV OCC\n"
        "Jogging_1,Jogging,1,3,0,groundtruth_rect.1.txt,person,\n"
        "Jogging_2,Jogging,1,3,0,groundtruth_rect.2.txt,person,DEF\n"
        "Tiger1,Tiger1,1,6,2,groundtruth_rect.txt,toy,\n",
    )
    add_frames(root / "David" / "img", range(1, 9), picture)
    add_text(root / "David" / "groundtruth_rect.txt", rows(4))
    add_frames(root / "Jogging" / "img", range(1, 4), picture)
    add_text(root / "Jogging" / "groundtruth_rect.1.txt", rows(3, "\t"))
    add_text(root / "Jogging" / "groundtruth_rect.2.txt", rows(3, " ", start=20))
    add_frames(root / "Tiger1" / "img", range(1, 7), picture, "{:05d}.png")
    add_text(root / "Tiger1" / "groundtruth_rect.txt", rows(6))
    sequences = load("otb", root)
    assert sequences.names == ["David", "Jogging_1", "Jogging_2", "Tiger1"]
    assert [Path(f).name for f in sequences["David"].frames] == ["0003.jpg", "0004.jpg", "0005.jpg", "0006.jpg"]
    assert sequences["David"].attributes["challenges"] == ["IV", "OCC"]
    assert sequences["Jogging_1"].frames == sequences["Jogging_2"].frames
    assert sequences["Jogging_2"].ground_truth_rect[0].tolist() == [20, 2, 10, 8]
    assert Path(sequences["Tiger1"].frames[0]).name == "00003.png"
    assert sequences["Tiger1"].ground_truth_rect[0, 0] == 2


@pytest.mark.parametrize(
    ("name", "part", "prefix"), [("uav", "UAV123", "uav_"), ("uav123_10fps", "UAV123_10fps", "uav10fps_")]
)
def test_uav_clips_of_one_video_overlap(
    name: str, part: str, prefix: str, root: Path, lists: Path, picture: bytes
) -> None:
    head = "name,folder,first,last,class,attributes\n"
    add_text(lists / "uav123.csv", head + "car1_1,car1,1,7,car,SV\ncar1_2,car1,7,13,car,\n")
    frames = (7, 7) if name == "uav" else (3, 3)
    add_frames(root / "data_seq" / part / "car1", range(1, 14), picture, "{:06d}.jpg")
    add_text(root / "anno" / part / "car1_1.txt", rows(frames[0] - 1) + "NaN,NaN,NaN,NaN\n")
    add_text(root / "anno" / part / "car1_2.txt", rows(frames[1]))
    first, second = load(name, root)
    assert [first.name, second.name] == [f"{prefix}car1_1", f"{prefix}car1_2"]
    assert first.frames[-1] == second.frames[0]  # the benchmark's clips share a frame
    assert [len(first), len(second)] == list(frames)
    assert np.isnan(first.ground_truth_rect[-1]).all() and not first.target_visible[-1]


def test_dtb70_and_nfs_and_tpl(root: Path, lists: Path, picture: bytes) -> None:
    add_text(lists / "dtb70.txt", "Girl2\n")
    add_frames(root / "Girl2" / "img", range(1, 4), picture, "{:05d}.jpg")
    add_text(root / "Girl2" / "groundtruth_rect.txt", rows(3))
    assert [(s.name, len(s)) for s in load("dtb70", root)] == [("dtb70_Girl2", 3)]

    add_text(lists / "nfs.csv", "name,last,class\nbee,4,insect\n")
    add_frames(root / "sequences" / "bee", range(1, 6), picture, "{:05d}.jpg")
    add_text(root / "anno" / "nfs_bee.txt", rows(3, "\t"))  # one row less than frames, as some of its videos have
    assert [(s.name, len(s), s.object_class) for s in load("nfs", root)] == [("nfs_bee", 3, "insect")]

    add_text(
        lists / "tpl.csv",
        "name,first,last,annotation,in_otb\nYo_yos_ce1,1,3,Yo-yos_ce1_gt.txt,\nHurdle_ce2,27,29,Hurdle_ce2_gt.txt,yes\n",
    )
    add_frames(root / "Yo-yos_ce1" / "img", range(1, 4), picture)
    add_text(root / "Yo-yos_ce1" / "Yo-yos_ce1_gt.txt", rows(3))
    add_frames(root / "tpl_Hurdle_ce2" / "img", range(20, 40), picture)
    add_text(root / "tpl_Hurdle_ce2" / "Hurdle_ce2_gt.txt", rows(3))
    assert load("tpl", root).names == ["tpl_Yo_yos_ce1", "tpl_Hurdle_ce2"]
    assert Path(load("tpl", root)[1].frames[0]).name == "0027.jpg"
    assert load("tpl_nootb", root).names == ["tpl_Yo_yos_ce1"]


def test_tlp_lost_frames_have_no_box(root: Path, picture: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    from pytracking.evaluation.datasets import tlp

    add_frames(root / "Bike" / "img", range(1, 4), picture, "{:05d}.jpg")
    add_text(root / "Bike" / "groundtruth_rect.txt", "1,5,6,10,8,0\n2,5,6,10,8,1\n3,7,6,10,8,0\n")
    with pytest.raises(base.IncompleteDatasetError, match="1 of 50 sequences found"):
        load("tlp", root)
    monkeypatch.setattr(tlp, "VIDEOS", 1)
    (sequence,) = load("tlp", root)
    assert sequence.name == "tlp_Bike"
    assert sequence.target_visible.tolist() == [True, False, True]
    assert np.isnan(sequence.ground_truth_rect[1]).all()
    assert sequence.ground_truth_rect[2].tolist() == [7, 6, 10, 8]


def test_trackingnet_sorts_frames_by_number(root: Path, lists: Path, picture: bytes) -> None:
    add_text(lists / "trackingnet_test.txt", "abc_0\n")
    add_frames(root / "TEST" / "frames" / "abc_0", range(0, 12), picture, "{:d}.jpg")
    add_text(root / "TEST" / "anno" / "abc_0.txt", "1.0,2.0,3.0,4.0\n")
    (sequence,) = load("trackingnet", root)
    assert [Path(f).stem for f in sequence.frames] == [str(n) for n in range(12)]
    assert sequence.ground_truth_rect.shape == (1, 4) and sequence.target_visible is None


def test_got10k_splits(root: Path, lists: Path, picture: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    from pytracking.evaluation.datasets import got10k

    monkeypatch.setattr(got10k, "SEQUENCES", 1)
    add_text(lists / "got10k_ltrval.txt", "1\n")
    add_text(root / "train" / "list.txt", "GOT-10k_Train_000001\nGOT-10k_Train_000002\n")
    names = {"val": "GOT-10k_Val_000001", "test": "GOT-10k_Test_000001", "train": "GOT-10k_Train_000002"}
    for split, name in names.items():
        add_frames(root / split / name, range(1, 4), picture, "{:08d}.jpg")
        add_text(root / split / name / "groundtruth.txt", rows(1 if split == "test" else 3))
    folder = root / "val" / "GOT-10k_Val_000001"
    add_text(folder / "cover.label", "8\n0\n8\n")
    add_text(folder / "absence.label", "0\n1\n0\n")
    add_text(folder / "meta_info.ini", "[METAINFO]\nobject_class: bear\nresolution: (40, 30)\n")
    (val,), (test,), (train,) = load("got10k_val", root), load("got10k_test", root), load("got10k_ltrval", root)
    assert val.attributes["image_size"] == (40.0, 30.0) and val.object_class == "bear"
    assert val.attributes["cover"].tolist() == [8, 0, 8]
    assert val.target_visible.tolist() == [True, False, True]
    assert len(test) == 3 and test.ground_truth_rect.shape == (1, 4)
    assert train.name == "GOT-10k_Train_000002" and len(train) == 3


def test_lasot_visibility_flags(root: Path, lists: Path, picture: bytes) -> None:
    add_text(lists / "lasot.csv", "name,attributes\ncat-1,IV\n")
    folder = root / "cat" / "cat-1"
    add_frames(folder / "img", range(1, 5), picture, "{:08d}.jpg")
    add_text(folder / "groundtruth.txt", rows(4))
    add_text(folder / "full_occlusion.txt", "0,1,0,0")
    add_text(folder / "out_of_view.txt", "0,0,1,0")
    (sequence,) = load("lasot", root)
    assert sequence.target_visible.tolist() == [True, False, False, True]
    assert sequence.object_class == "cat"
    add_text(folder / "out_of_view.txt", "0,0,1")
    with pytest.raises(base.IncompleteDatasetError, match="cat-1: 4 boxes, 4 occlusion flags, 3 out-of-view flags"):
        load("lasot", root)


def test_oxuva_sparse_labels(root: Path, picture: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    from pytracking.evaluation.datasets import oxuva

    monkeypatch.setattr(oxuva, "TRACKS", {"dev": 1, "test": 1})
    for split in ("dev", "test"):
        add_frames(root / "images" / split / "vid0001", range(0, 90), picture, "{:06d}.jpeg")
        add_text(root / "tasks" / f"{split}.csv", "vid0001,obj0000,10,70,0.25,0.75,0.1,0.5\n")
    label = "vid0001,obj0000,20,elephant,unknown,unknown"
    add_text(
        root / "annotations" / "dev.csv",
        f"{label},10,present,0.25,0.75,0.1,0.5\n{label},40,absent,-1,-1,-1,-1\n"
        f"{label},70,present,0.5,0.75,0.2,0.4\n{label},80,present,0.5,0.75,0.2,0.4\n",
    )
    (dev,) = load("oxuva_dev", root)
    assert dev.name == "vid0001_obj0000_frames[000010:000071]" and len(dev) == 61
    np.testing.assert_allclose(dev.ground_truth_rect[0], [10, 3, 20, 12])
    np.testing.assert_allclose(dev.ground_truth_rect[60], [20, 6, 10, 6])
    assert np.isnan(dev.ground_truth_rect[1:60]).all()
    assert dev.attributes["label_frames"].tolist() == [0, 30, 60]
    assert dev.attributes["label_present"].tolist() == [True, False, True]
    (test,) = load("oxuva_test", root)
    assert test.ground_truth_rect.shape == (1, 4)


def test_vot_polygons_and_older_layout(root: Path, lists: Path, picture: bytes) -> None:
    add_text(lists / "vot18.txt", "ants1\nbag\n")
    add_frames(root / "ants1" / "color", range(1, 3), picture, "{:08d}.jpg")
    add_text(root / "ants1" / "groundtruth.txt", "1,5,4,1,8,4,5,9\n2,5,5,1,9,4,6,9\n")
    add_frames(root / "bag", range(1, 4), picture, "{:08d}.jpg")
    add_text(root / "bag" / "groundtruth.txt", rows(3))
    ants, bag = load("vot18", root)
    assert ants.name == "vot18_ants1" and bag.name == "vot18_bag"
    assert ants.ground_truth_rect.tolist() == [[1, 1, 7, 8], [2, 1, 7, 8]]
    assert ants.attributes["polygons"].shape == (2, 8)
    assert len(bag) == 3 and bag.ground_truth_rect[0].tolist() == [0, 2, 10, 8]
    assert load("vot17", root).names == ["vot17_ants1", "vot17_bag"]


def test_vot_without_a_year_is_pytrackings(root: Path, lists: Path, picture: bytes) -> None:
    add_text(lists / "vot18.txt", "bag\n")
    add_frames(root / "bag" / "color", range(1, 4), picture, "{:08d}.jpg")
    add_text(root / "bag" / "groundtruth.txt", rows(3))
    (bag,) = load("vot", root)
    assert (bag.name, bag.dataset, len(bag)) == ("bag", "vot", 3)


def test_avist_flags_and_list(root: Path, picture: bytes) -> None:
    for name, frames in (("zebra", 2), ("armed_robber", 3)):
        add_frames(root / "sequences" / name, range(1, frames + 1), picture, "img_{:05d}.jpg")
        add_text(root / "anno" / f"{name}.txt", rows(frames))
        add_text(root / "full_occlusion" / f"{name}_full_occlusion.txt", "\n".join("010"[:frames]))
        add_text(root / "out_of_view" / f"{name}_out_of_view.txt", "\n".join("001"[:frames]))
    robber, zebra = load("avist", root)
    assert (robber.name, robber.dataset, zebra.name) == ("armed_robber", "avist", "zebra")
    assert [Path(frame).name for frame in robber.frames] == ["img_00001.jpg", "img_00002.jpg", "img_00003.jpg"]
    assert robber.target_visible.tolist() == [True, False, False] and zebra.target_visible.tolist() == [True, False]
    assert robber.ground_truth_rect.tolist() == [[0, 2, 10, 8], [1, 2, 10, 8], [2, 2, 10, 8]]
    add_text(root / "out_of_view" / "zebra_out_of_view.txt", "0\n0\n0")
    with pytest.raises(base.IncompleteDatasetError, match="zebra: 2 boxes, 2 occlusion flags, 3 out-of-view flags"):
        load("avist", root)


def test_lasots_extension_is_what_the_folder_holds(root: Path, picture: bytes) -> None:
    for name, frames in (("skatingshoe-2", 2), ("atv-10", 3)):
        folder = root / name.split("-")[0] / name
        add_frames(folder / "img", range(1, frames + 1), picture, "{:08d}.jpg")
        add_text(folder / "groundtruth.txt", rows(frames))
        add_text(folder / "full_occlusion.txt", ",".join("010"[:frames]))
        add_text(folder / "out_of_view.txt", ",".join("000"[:frames]))
    atv, shoe = load("lasot_extension_subset", root)
    assert (atv.name, atv.object_class, atv.dataset) == ("atv-10", "atv", "lasot_extension_subset")
    assert atv.target_visible.tolist() == [True, False, True] and (shoe.name, len(shoe)) == ("skatingshoe-2", 2)
    assert Path(atv.frames[2]).name == "00000003.jpg"


@pytest.mark.parametrize("name", ["avist", "lasot_extension_subset"])
def test_a_folder_of_something_else_is_named(name: str, root: Path) -> None:
    with pytest.raises(base.IncompleteDatasetError, match=str(root)):
        load(name, root)


def test_incomplete_download_names_what_is_missing(root: Path, lists: Path, picture: bytes) -> None:
    add_text(lists / "dtb70.txt", "\n".join(f"v{i}" for i in range(20)))
    add_frames(root / "v0" / "img", range(1, 3), picture)
    add_text(root / "v0" / "groundtruth_rect.txt", rows(3))  # three boxes, two frames
    with pytest.raises(base.IncompleteDatasetError) as caught:
        load("dtb70", root)
    message = str(caught.value)
    assert "20 of 20 sequences are missing or incomplete" in message
    assert "v0: 1 of 3 frames missing" in message and "(the first is 3)" in message
    assert "v1: no" in message and "... and 8 more" in message
    assert "expected layout: <video>/img/00001.jpg" in message


def test_damaged_annotation_names_file_and_line(root: Path, lists: Path, picture: bytes) -> None:
    add_text(lists / "dtb70.txt", "v0\n")
    add_frames(root / "v0" / "img", range(1, 3), picture)
    path = add_text(root / "v0" / "groundtruth_rect.txt", "1,2,3,4\n1,2,3\n")
    with pytest.raises(base.IncompleteDatasetError, match="groundtruth_rect.txt, line 2: 3 numbers"):
        load("dtb70", root)
    path.write_text("1,2,3,4\n1,2,three,4\n")
    with pytest.raises(base.IncompleteDatasetError, match="line 2: not numbers"):
        load("dtb70", root)


@pytest.mark.parametrize("name", sorted(set(DATASETS) - {"demo"}))
def test_missing_folder_is_named(name: str, tmp_path: Path) -> None:
    with pytest.raises(base.IncompleteDatasetError, match=r"(?s)nowhere.*expected"):
        load(name, tmp_path / "nowhere")
