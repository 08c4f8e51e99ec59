"""The page, the video, and which moments come first."""
from __future__ import annotations

import base64
import json
import re
from pathlib import Path

import cv2
import numpy as np

from pytracking.analysis.moments import worst_moments
from pytracking.analysis.playback import drawn_frames, write_page, write_video
from pytracking.evaluation import get_dataset


def data_of(page: str) -> dict:
    found = re.search(r'<script id="data" type="application/json">(.*?)</script>', page, re.S)
    return json.loads(found[1].replace("<\\/", "</"))


def test_worst_moments_first() -> None:
    good, bad = np.full(200, 0.8), np.full(200, 0.8)
    bad[50:80] = 0.5
    bad[150:160] = 0.0
    good[100] = 0.0  # a single frame is no moment of its own
    moments = worst_moments({"good": good, "bad": bad})
    assert 150 <= moments[0].frame < 160 and moments[0].worse == "bad" and abs(moments[0].gap - 0.8) < 1e-9
    assert 50 <= moments[1].frame < 80 and abs(moments[1].gap - 0.3) < 1e-9
    assert [m.gap for m in moments] == sorted((m.gap for m in moments), reverse=True)
    assert worst_moments({"good": good[:90], "same": good[:90].copy()}) == []
    assert worst_moments({"bad": bad})[0].better == "annotation"


def test_frames_without_target_are_no_moment() -> None:
    good, bad = np.full(60, 0.9), np.full(60, np.nan)
    assert worst_moments({"good": good, "bad": bad}) == []


def test_page_needs_nothing_but_itself(folder_dataset: Path, tmp_path: Path) -> None:
    sequence = get_dataset(f"folder:{folder_dataset}")[0]
    truth = sequence.ground_truth_rect
    lost = truth + np.where(np.arange(len(truth)) >= 20, 90.0, 0.0)[:, None] * [1, 0, 0, 0]
    boxes = {"near": truth + [1, 0, 0, 0], "</script>": lost}
    moments = write_page(tmp_path / "page.html", sequence, boxes, most_frames=12)
    page = (tmp_path / "page.html").read_text()
    assert not re.search(r'(src|href)\s*=\s*"(?!data:)', page)
    data = data_of(page)
    assert data["frames"] == 30 and 2 <= len(data["images"]) == len(data["indices"]) <= 13
    assert moments[0].frame in data["indices"] and moments[0].frame >= 18
    assert data["trackers"][1]["name"] == "</script>" and data["trackers"][1]["overlap"][25] == 0
    image = cv2.imdecode(np.frombuffer(base64.b64decode(data["images"][0]), np.uint8), cv2.IMREAD_COLOR)
    assert image.shape[:2] == (data["height"], data["width"]) == (120, 160)
    np.testing.assert_allclose(data["truth"][3], truth[3], atol=0.051)


def test_video_shows_the_boxes(folder_dataset: Path, tmp_path: Path) -> None:
    sequence = get_dataset(f"folder:{folder_dataset}")[0]
    write_video(tmp_path / "clip.mp4", sequence, {"mine": sequence.ground_truth_rect + [8, 8, 0, 0]})
    capture = cv2.VideoCapture(str(tmp_path / "clip.mp4"))
    done, frame = capture.read()
    assert done and int(capture.get(cv2.CAP_PROP_FRAME_COUNT)) == 30
    x, y, w, _ = sequence.ground_truth_rect[0].round().astype(int)
    edge = frame[y - 1 : y + 2, x + w // 2].astype(int)
    assert (edge[:, 1] - edge[:, 2]).max() > 60  # green against grey


def test_a_moment_says_that_its_value_is_a_mean() -> None:
    good, bad = np.full(60, 0.8), np.full(60, 0.8)
    bad[30:33] = 0.0
    text = worst_moments({"good": good, "bad": bad})[0].text
    assert "mean of 5 frames" in text and "0.48" in text  # 3 of the 5 frames are lost


def test_the_videos_legend_leaves_the_picture_alone(folder_dataset: Path) -> None:
    sequence = get_dataset(f"folder:{folder_dataset}")[0]
    far = np.tile([150.0, 110, 8, 8], (30, 1))
    boxes = {"a tracker": far, "another": far}
    frame = next(drawn_frames(sequence, boxes, {name: far[:, 0] for name in boxes}))
    assert frame.shape[0] > 120, "the legend stands below"
    x, y, w, h = sequence.ground_truth_rect[0]
    original = sequence.load_frame(0).astype(int)
    differs = np.abs(frame[:120].astype(int) - original).max(axis=2) > 8
    differs[int(y) - 4 : int(y + h) + 5, int(x) - 4 : int(x + w) + 5] = False
    assert not differs[:100].any()
