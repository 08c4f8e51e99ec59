"""The sequence lists themselves: counts and facts that the benchmarks' papers state."""
from __future__ import annotations

import pytest

from pytracking.evaluation.datasets import base


@pytest.mark.parametrize(
    ("name", "count"),
    [("otb", 100), ("uav123", 123), ("nfs", 100), ("tpl", 129), ("lasot", 280)],
)
def test_tables_have_the_published_number_of_sequences(name: str, count: int) -> None:
    names = [row["name"] for row in base.read_table(name)]
    assert len(names) == len(set(names)) == count


@pytest.mark.parametrize(
    ("name", "count"),
    [("dtb70", 70), ("trackingnet_test", 511), ("got10k_ltrval", 1401), ("vot16", 60), ("vot18", 60), ("vot19", 60)],
)
def test_name_lists_have_the_published_number_of_sequences(name: str, count: int) -> None:
    names = base.read_names(name)
    assert len(names) == len(set(names)) == count


def test_otb_is_100_targets_in_98_videos() -> None:
    rows = base.read_table("otb")
    assert len({row["folder"] for row in rows}) == 98
    david = next(row for row in rows if row["name"] == "David")
    assert (david["first"], david["last"]) == ("300", "770")
    assert sum(int(row["last"]) - int(row["first"]) + 1 - int(row["skip"]) for row in rows) > 58_000
    known = {"IV", "SV", "OCC", "DEF", "MB", "FM", "IPR", "OPR", "OV", "BC", "LR"}
    assert all(row["attributes"] and set(row["attributes"].split()) <= known for row in rows)


@pytest.mark.parametrize(("part", "count", "videos"), [("otb2013", 51, 50), ("otb50", 50, 49)])
def test_parts_of_otb(part: str, count: int, videos: int) -> None:
    folders = {row["name"]: row["folder"] for row in base.read_table("otb")}
    names = base.read_names(part)
    assert len(names) == len(set(names)) == count
    assert len({folders[name] for name in names}) == videos


def test_otb2013_and_tb50_differ() -> None:
    first, second = set(base.read_names("otb2013")), set(base.read_names("otb50"))
    assert {"Jogging_1", "Jogging_2", "Doll", "Tiger1"} <= first - second
    assert {"Skating2_1", "Skating2_2", "Human4_2", "Biker"} <= second - first


def test_uav123_has_110_thousand_frames_and_overlapping_clips() -> None:
    rows = base.read_table("uav123")
    assert sum(int(row["last"]) - int(row["first"]) + 1 for row in rows) > 110_000
    clips = sorted((int(row["first"]), int(row["last"])) for row in rows if row["folder"] == "group1")
    assert [end for _, end in clips[:-1]] == [start for start, _ in clips[1:]]


def test_lasot_has_four_videos_of_each_of_70_classes() -> None:
    kinds = [row["name"].rsplit("-", 1)[0] for row in base.read_table("lasot")]
    assert {kinds.count(kind) for kind in kinds} == {4} and len(set(kinds)) == 70


def test_vot2017_replaced_ten_videos_of_vot2016() -> None:
    assert len(set(base.read_names("vot16")) & set(base.read_names("vot18"))) == 50


def test_got10k_split_fits_the_training_set() -> None:
    assert all(0 <= int(line) < 9335 for line in base.read_names("got10k_ltrval"))
