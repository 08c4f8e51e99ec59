"""The cache of features: interrupted, resumed, built by several processes, refused for other data; how it is read."""
from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch

from ltr.data.box_feature_cache import BoxFeatureCache
from ltr.data.feature_cache import CachePart, FeatureCache, build_cache, open_arrays
from ltr.errors import UserError

LENGTH = 450  # progress is noted twice before the end


class Numbers(list):
    """Examples that say which part they belong to and which number they have."""

    def __init__(self, part: int, length: int = LENGTH) -> None:
        super().__init__({"part": part, "number": n} for n in range(length))


PARTS = [CachePart(f"part_{n}", partial(Numbers, n)) for n in range(2)]


def compute(batch: list[dict]) -> dict[str, np.ndarray]:
    values = np.array([[100 * e["part"] + e["number"]] for e in batch])
    return {"layer2": values.astype(np.float16), "boxes": np.repeat(values[:, None], 4, axis=2).astype(np.float32)}


class Stopped(Exception):
    """Stands for the end of the process."""


def test_an_interrupted_build_goes_on_where_it_was(tmp_path: Path) -> None:
    seen: list[int] = []

    def until(stop: int | None, batch: list[dict]) -> dict[str, np.ndarray]:
        if stop is not None and batch[-1]["number"] >= stop:
            raise Stopped
        seen.extend(e["number"] for e in batch)
        return compute(batch)

    with pytest.raises(Stopped):
        build_cache(tmp_path, PARTS[:1], partial(until, 300), {})
    seen.clear()
    (folder,) = build_cache(tmp_path, PARTS[:1], partial(until, None), {})
    assert seen == list(range(200, LENGTH))
    np.testing.assert_array_equal(open_arrays(folder)["boxes"][:, 0, 2], np.arange(LENGTH))
    seen.clear()
    build_cache(tmp_path, PARTS[:1], partial(until, None), {})
    assert seen == []


def test_several_processes_build_the_same(tmp_path: Path) -> None:
    alone, together = (build_cache(tmp_path / str(n), PARTS, compute, {"seed": 1}, workers=n) for n in (0, 2))
    for one, other in zip(alone, together, strict=True):
        assert {p.name: p.read_bytes() for p in one.iterdir()} == {p.name: p.read_bytes() for p in other.iterdir()}


def test_a_cache_of_other_data_is_refused(tmp_path: Path) -> None:
    build_cache(tmp_path, PARTS[:1], compute, {"taps": (3, 6)})
    build_cache(tmp_path, PARTS[:1], compute, {"taps": (3, 6)})  # json knows no tuples
    with pytest.raises(UserError, match="part_0 was made for .*move it away"):
        build_cache(tmp_path, PARTS[:1], compute, {"taps": (3, 7)})


def test_examples_follow_each_other_over_parts(tmp_path: Path) -> None:
    cache = FeatureCache(build_cache(tmp_path, PARTS, compute, {}))
    assert len(cache) == 2 * LENGTH
    for index, expected in ((0, 0), (LENGTH - 1, LENGTH - 1), (LENGTH, 100), (LENGTH + 7, 107)):
        assert cache[index]["features"]["layer2"].tolist() == [expected]
        assert cache[index]["boxes"].tolist() == [[expected] * 4]


def box_rows(first: int, batch: list[dict]) -> dict[str, np.ndarray]:
    """Two target and three background boxes: (frame, domain), the background's domain negated."""
    label = np.array([[e["part"], first + e["number"]] for e in batch], dtype=np.float16)
    sign = np.array([1, -1], dtype=np.float16)
    return {"positive": np.stack([label] * 2, axis=1), "negative": np.stack([label * sign] * 3, axis=1)}


def test_boxes_are_drawn_from_frames_of_one_domain(tmp_path: Path) -> None:
    frames = {"videos": (4, 1), "stills": (2, 11)}  # number of frames, first domain
    caches = [
        build_cache(tmp_path / kind, [CachePart(f"frame_{n}", partial(Numbers, n, 3)) for n in range(count)],
                    partial(box_rows, first), {})
        for kind, (count, first) in frames.items()
    ]  # fmt: skip
    cache = BoxFeatureCache(caches, frames=3, positive=4, negative=100, cycles=5)
    assert cache.visits == [0, 0, 1, 1, 2, 2, 3, 4, 5] and len(cache) == 45, "videos have twice the frames"
    for index in range(len(cache)):
        example = cache[index]
        shown = 1 + example["domain"] if example["domain"] < 3 else 8 + example["domain"]
        positive, negative = example["positive_features"], example["negative_features"]
        assert positive[:, 1].eq(shown).all() and negative[:, 1].eq(-shown).all()
        assert len(positive) == 4 and len(negative) == (9 if example["domain"] < 3 else 6)
    cache.set_epoch(1)
    changed = [not torch.equal(cache[0]["positive_features"], cache[9 * n]["positive_features"]) for n in range(1, 5)]
    assert any(changed)
