"""Rendered sequences that tell a tracker, in two pixels, where they are; and trackers that make use of it.

Also a TraX server: ``python miniature.py KIND`` serves one of ``KINDS``, so that the toolkit can start it.
"""
from __future__ import annotations

import configparser
import ctypes
import shlex
import sys
import time
from pathlib import Path

import numpy as np

from pytracking.tracker.base import BaseTracker, TrackerParams
from pytracking.utils.image_io import write_image
from pytracking.vot_integration.sequences import SourceSequence

WIDTH, HEIGHT = 80, 60
STRIDES = (1, 3, 0)  # pixels per frame, by number of the sequence


def truth(sequence: int, frame: int) -> list[float]:
    """The annotated box."""
    return [10 + STRIDES[sequence] * frame, 20, 16, 12]


def render(sequence: int, frame: int) -> np.ndarray:
    """A textured target on a textured ground; the first two pixels hold the sequence and the frame."""
    image = np.random.default_rng(1).integers(60, 120, (HEIGHT, WIDTH, 3), dtype=np.uint8)
    x, y, w, h = map(int, truth(sequence, frame))
    texture = np.random.default_rng(2).integers(130, 250, (h, w, 3), dtype=np.uint8)
    image[y : y + h, x : x + w] = texture[:, : max(0, WIDTH - x)]
    image[0, 0], image[0, 1] = sequence, frame
    return image


def write_frames(folder: Path, sequence: int, frames: int) -> tuple[Path, ...]:
    """Frames as lossless files."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = tuple(folder / f"{frame + 1:04d}.png" for frame in range(frames))
    for frame, path in enumerate(paths):
        write_image(path, render(sequence, frame))
    return paths


def corners(box: list[float]) -> tuple[float, ...]:
    """A box as a polygon, turned by 45 degrees about its centre."""
    x, y, w, h = box
    cx, cy, side = x + w / 2, y + h / 2, (w + h) / 4
    return (cx - side, cy, cx, cy - side, cx + side, cy, cx, cy + side)


def source(folder: Path, sequence: int, frames: int, *, polygons: bool = False, fps: int = 1) -> SourceSequence:
    """A sequence on disk, of one frame per second by default."""
    regions = [truth(sequence, frame) for frame in range(frames)]
    lines = tuple(corners(box) if polygons else tuple(box) for box in regions)
    return SourceSequence(f"seq{sequence}", write_frames(folder / f"seq{sequence}", sequence, frames), lines, fps)


def register(workspace: Path, *kinds: str, timeout: int = 60) -> None:
    """Adds trackers of this file to a workspace's registry, as TraX servers."""
    registry = configparser.ConfigParser()
    registry.read(workspace / "trackers.ini")
    for kind in kinds:
        registry[kind] = {
            "protocol": "trax",
            "command": shlex.join([sys.executable, __file__, kind, str(0.8 * timeout)]),
            "timeout": str(timeout),
            "env_pythonpath": str(Path(__file__).resolve().parents[2]),
        }
    with open(workspace / "trackers.ini", "w", encoding="utf-8") as stream:
        registry.write(stream)


class Perfect(BaseTracker):
    """Knows the truth."""

    def initialize(self, image, info):
        self.seeds = [*getattr(self, "seeds", []), info["seed"]]
        self.box = info["init_bbox"]

    def track(self, image, info=None):
        return {"target_bbox": self.answer(int(image[0, 0, 0]), int(image[0, 1, 0])), "score": 0.5}

    def answer(self, sequence: int, frame: int) -> list[float]:
        return truth(sequence, frame)


class HalfThenJump(Perfect):
    """Covers the left half of the target (overlap 1/2), and nothing of it in frame 10 of sequence 0."""

    def answer(self, sequence, frame):
        x, y, w, h = truth(sequence, frame)
        return [0, 0, 5, 5] if (sequence, frame) == (0, 10) else [x, y, w / 2, h]


class Stays(Perfect):
    """Never moves."""

    def answer(self, sequence, frame):
        return self.box


class Wanders(Perfect):
    """Walks at random from where it started, by its seed."""

    def initialize(self, image, info):
        super().initialize(image, info)
        self.generator = np.random.default_rng(info["seed"])

    def answer(self, sequence, frame):
        x, y, w, h = self.box
        step = self.generator.uniform(-1.5, 2.5, 2)
        self.box = [x + step[0], y + step[1] / 2, w, h]
        return self.box


class Crashes(Perfect):
    def answer(self, sequence, frame):
        if frame == 3:
            raise ZeroDivisionError("boom at frame 3")
        return super().answer(sequence, frame)


class Hangs(Perfect):
    def answer(self, sequence, frame):
        while frame == 3:
            time.sleep(1)
        return super().answer(sequence, frame)


class ReturnsNaN(Perfect):
    def answer(self, sequence, frame):
        return [float("nan")] * 4 if frame == 3 else super().answer(sequence, frame)


class DiesInNativeCode(Perfect):
    def answer(self, sequence, frame):
        return ctypes.string_at(0) if frame == 3 else super().answer(sequence, frame)


class CannotLoad(Perfect):
    def __init__(self, params):
        raise FileNotFoundError("there is no network 'dimp99.pth'")


class HangsWhileLoading(Perfect):
    def __init__(self, params):
        time.sleep(1000)


class Chatters(Perfect):
    """Prints to standard output without ending its lines, which the protocol shares."""

    def __init__(self, params):
        super().__init__(params)
        print("loading", end="")

    def initialize(self, image, info):
        super().initialize(image, info)
        print("initialising", end="")
        sys.stderr.write("a warning, unended")

    def answer(self, sequence, frame):
        print(f"frame {frame}", end="")
        return super().answer(sequence, frame)


KINDS = {
    kind.__name__: kind
    for kind in (
        Perfect,
        HalfThenJump,
        Stays,
        Wanders,
        Crashes,
        Hangs,
        ReturnsNaN,
        DiesInNativeCode,
        CannotLoad,
        HangsWhileLoading,
        Chatters,
    )
}


if __name__ == "__main__":
    from pytracking.vot_integration.server import serve

    chosen, timeout = KINDS[sys.argv[1]], float(sys.argv[2])
    sys.exit(serve(lambda: chosen(TrackerParams()), sys.argv[1], timeout=timeout))
