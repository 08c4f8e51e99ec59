"""One loop drives every tracker: whoever runs it, a tracker is told the same and its output is checked alike."""
from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest

import experiments
import pytracking
from experiments.planning import PROBE_FRAMES, time_frames
from pytracking.evaluation import Tracker
from pytracking.evaluation.frame_loop import FrameError, FrameLoop, TrackerOutputError
from pytracking.evaluation.handle import TrackerHandle
from pytracking.evaluation.sequence import Sequence
from pytracking.evaluation.tracking import track_sequence
from pytracking.tracker.base import BaseTracker, TrackerParams
from pytracking.tracker.oracle import OracleTracker
from pytracking.video.sources import open_source
from pytracking.video.tracking import track_video
from pytracking.vot_integration.session import VotSession
from pytracking.web.followers import Followers
from pytracking.web.messages import Target
from tests.evaluation.conftest import write_sequence

FRAMES = 6


class Notes(BaseTracker):
    """Notes what it is told and says something else about every frame."""

    def __init__(self, params: TrackerParams | None = None) -> None:
        super().__init__(params or TrackerParams())
        self.first: dict = {}
        self.others: list[dict] = []

    def initialize(self, image, info):
        self.first = info
        return {"learner": {"updated": 1}, "time": 0.5}

    def track(self, image, info=None):
        self.others.append(info)
        return {"target_bbox": np.array([4 + len(self.others), 10, 20, 20]), "score": len(self.others), "time": 0.25}


@pytest.fixture
def sequence(tmp_path: Path) -> Sequence:
    return write_sequence(tmp_path / "data", "one", FRAMES)


@pytest.fixture
def handle(monkeypatch) -> tuple[TrackerHandle, Notes]:
    notes = Notes()
    monkeypatch.setattr(Tracker, "create_tracker", lambda self, overrides=None: notes)
    return pytracking.load("identity"), notes


def by_evaluation(sequence, handle) -> list[float]:
    return track_sequence(handle[1], sequence).times.tolist()


def by_handle(sequence, handle) -> list[float]:
    handle[0].init(sequence.load_frame(0), sequence.ground_truth_rect[0])
    seconds = [handle[0].seconds]
    for index in range(1, FRAMES):
        handle[0].update(sequence.load_frame(index))
        seconds.append(handle[0].seconds)
    return seconds


def by_video(sequence, handle) -> list[float]:
    with open_source(str(Path(sequence.frames[0]).parent)) as source:
        return [step.seconds for step in track_video(handle[0], source, lambda _: {1: sequence.ground_truth_rect[0]})]


def by_page(sequence, handle) -> list[float]:
    followers = Followers(lambda: handle[0])
    followers.change((Target(1, tuple(sequence.ground_truth_rect[0])),))
    seconds = []
    for index in range(FRAMES):
        followers.step(sequence.load_frame(index), index)
        seconds.append(followers.seconds)
    return seconds


def by_vot(sequence, handle) -> None:
    session = VotSession(handle[1])
    session.start(sequence.frames[0], sequence.ground_truth_rect[0].tolist())
    for index in range(1, FRAMES):
        session.follow(sequence.frames[index])


def by_probe(sequence, handle) -> list[float]:
    assert PROBE_FRAMES >= FRAMES
    first, others, tracked = time_frames(handle[1], sequence)
    return [first, *[others / tracked] * tracked]


@pytest.mark.parametrize("drive", [by_evaluation, by_handle, by_video, by_page, by_vot, by_probe])
def test_everybody_tells_the_tracker_the_same(sequence, handle, drive):
    seconds, notes = drive(sequence, handle), handle[1]
    assert notes.first["init_bbox"] == [4, 10, 20, 20] and all(type(each) is float for each in notes.first["init_bbox"])
    assert isinstance(notes.first["seed"], int)
    if drive in (by_evaluation, by_probe):
        assert notes.first["sequence_name"] == "one"
    assert "ground_truth" not in notes.first, "only for trackers that ask for it"
    assert [info["frame_index"] for info in notes.others] == list(range(1, FRAMES))
    before = [info["previous_output"] for info in notes.others]
    assert before[0] == {"target_bbox": [4, 10, 20, 20], "learner": {"updated": 1}, "time": 0.5}
    assert [(each["target_bbox"], each["score"]) for each in before[1:]] == [
        ([4 + count, 10, 20, 20], count) for count in range(1, FRAMES - 1)
    ]
    if seconds is not None:
        assert seconds == [0.5, *[0.25] * (FRAMES - 1)], "a tracker's own clock counts"


def test_nobody_calls_a_tracker_but_the_loop():
    calls = []
    for package in (pytracking, experiments):
        root = Path(package.__path__[0])
        for file in root.rglob("*.py"):
            # in pytracking/compat, networks and features have a method of that name
            if {root / "tracker", root / "compat"} & set(file.parents) or file.name == "frame_loop.py":
                continue
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                    calls += [f"{file}:{node.lineno}"] * (node.func.attr in ("initialize", "track"))
    assert calls == []


def test_a_tracker_that_asks_for_the_annotation_gets_it_or_an_error(sequence):
    boxes = track_sequence(OracleTracker(TrackerParams()), sequence).boxes
    np.testing.assert_array_equal(boxes, sequence.ground_truth_rect)
    with pytest.raises(ValueError, match="init: OracleTracker needs the annotation"):
        FrameLoop(OracleTracker(TrackerParams())).start(sequence.load_frame(0), [1, 2, 3, 4], where="init")


@pytest.mark.parametrize("box", [[1, 2, np.nan, 4], [1, 2, 3], [1, 2, -3, 4], "box", None])
def test_what_is_no_box_is_refused_wherever_it_is_said(sequence, box):
    class Wrong(Notes):
        def initialize(self, image, info):
            return {"target_bbox": box} if self.first == "say it" else None

        def track(self, image, info=None):
            return {"target_bbox": box}

    tracker = Wrong()
    loop, image = FrameLoop(tracker), sequence.load_frame(0)
    loop.start(image, [1, 2, 3, 4])
    with pytest.raises(TrackerOutputError, match="frame 2: the tracker returned"):
        loop.next(image)
    tracker.first = "say it"
    with pytest.raises(TrackerOutputError, match="the first frame: the tracker returned"):
        loop.start(image, [1, 2, 3, 4])
    assert not loop.started


def test_frames_are_checked_and_a_failed_start_ends_the_old_target(sequence):
    loop, image = FrameLoop(Notes()), sequence.load_frame(0)
    with pytest.raises(RuntimeError, match=r"start\(\) first"):
        loop.next(image)
    loop.start(image, [1, 2, 3, 4])
    with pytest.raises(FrameError, match="frame 2 is 64x20, but the first frame is 64x48"):
        loop.next(image[:20])
    with pytest.raises(FrameError, match="RGB uint8"):
        loop.next(image[..., 0])
    with pytest.raises(FrameError, match="RGB uint8"):
        loop.start(image.astype(float), [1, 2, 3, 4])
    with pytest.raises(RuntimeError, match=r"start\(\) first"):
        loop.next(image)
