"""The page as a person uses it: draw, watch, look back, compare, correct, download."""
import csv
import json

import cv2
import pytest

pytest.importorskip("starlette", reason="the extra 'web' is not installed")

from pytracking.evaluation import get_dataset  # noqa: E402
from pytracking.evaluation.handle import TrackerHandle  # noqa: E402
from tests.web.users import FAST, PAIR, PARTING, downloaded, finished, in_process, pause  # noqa: E402


def test_one_click_tracks_a_demo_and_everything_can_be_downloaded(open_page, tmp_path):
    page = open_page(**FAST)
    finished(page, *PAIR)
    sequence = get_dataset("demo")["bird"]
    page.says(f"{len(sequence)} frames tracked")
    assert page.is_visible("#view-b"), "the second tracker has a view of its own"
    path = downloaded(page, "#download-csv", tmp_path)
    assert path.name == "bird_identity-default_vs_opencv-kcf.csv"
    with open(path, newline="") as stream:
        rows = list(csv.DictReader(stream))
    for name in PAIR:
        expected = in_process(name, sequence, sequence.ground_truth_rect[0].tolist())
        found = [[float(row[key]) for key in "xywh"] for row in rows if row["tracker"] == name]
        assert found == [pytest.approx(one, abs=0.011) for one in expected]
    assert len(json.loads(downloaded(page, "#download-json", tmp_path).read_text())["rows"]) == 2 * len(sequence)
    mot = downloaded(page, "#download-mot-1", tmp_path)
    assert mot.name == "bird_opencv-kcf_mot.txt" and mot.read_text().startswith("1,1,")
    video = cv2.VideoCapture(str(downloaded(page, "#download-video", tmp_path)))
    assert sum(video.read()[0] for _ in range(200)) == len(sequence)


def test_values_that_a_tracker_does_not_have_are_not_shown(open_page):
    page = open_page(**FAST)
    finished(page, *PAIR)
    assert "score" not in page.inner_text("#caption-b") and "score" not in page.inner_text("#insight")
    assert "updates" not in page.inner_text("#insight") and "curve" not in page.inner_text("#legend").lower()


def test_scrubbing_shows_the_frame_with_its_boxes(open_page):
    page = open_page(**FAST)
    finished(page, *PAIR)
    page.seek(0.25)
    page.until("Math.abs(state.shown - 37) <= 1 && state.message?.index === state.shown")
    expected = in_process("opencv/kcf", get_dataset("demo")["bird"], [175, 102, 51, 51])
    shown = page.state("state.shown")
    box = page.state("state.message.trackers[1].objects[0].box")
    assert box == pytest.approx(expected[shown], abs=0.011)
    page.until(f"document.getElementById('timeline').ariaValueNow === '{shown + 1}'")
    page.keyboard.press("ArrowRight")
    page.until(f"state.shown === {shown + 1}")
    page.keyboard.press("Home")
    page.until("state.shown === 0")
    page.keyboard.press("Space")
    page.until("state.playing && state.shown > 3")
    page.keyboard.press("Space")
    page.until("!state.playing")


def test_looking_back_while_it_tracks_and_returning(open_page):
    page = open_page()
    page.choose_demo("lantern_long")
    page.track()
    page.until("state.run?.count >= 20")
    page.keyboard.press("Home")
    page.until("state.shown === 0 && !state.following")
    count = page.state("state.run.count")
    page.until(f"state.run.count > {count + 5}")
    assert page.state("state.shown") == 0, "the tracking goes on, the view stays"
    page.click("#newest")
    page.until(f"state.shown > {count}")


def test_starting_anywhere(open_page):
    page = open_page()
    page.choose_demo("fish")
    page.seek(0.5)
    page.until("Math.abs(state.shown - 100) <= 1")
    page.drag([60, 80, 50, 40])
    start = page.state("state.shown")
    page.click("#start")
    page.until("state.run?.count >= 4")
    assert page.state("state.run.start") == start
    assert page.state("state.run.track(0).boxes.at(0)") == pytest.approx([60, 80, 50, 40], abs=1.5)


def test_a_correction_goes_back_to_the_frame_in_view_and_is_marked(open_page, tmp_path):
    page = open_page()
    page.choose_demo("lantern_long")
    page.track()
    page.until("state.run?.count >= 15")
    frame = pause(page)
    for _ in range(4):
        page.keyboard.press("ArrowLeft")
        frame -= 1
        page.until(f"state.shown === {frame}")
    page.keyboard.press("c")
    page.until("state.correcting")
    page.says(f"frame {frame + 1}.")
    page.drag([30, 40, 50, 44])
    page.until(f"state.run.corrected.length && state.run.last > {frame + 3}")
    page.keyboard.press("Escape")
    page.until("state.phase === 'idle'")
    assert page.state("state.run.corrected") == [[frame, 1]]
    rows = downloaded(page, "#download-csv", tmp_path).read_text().splitlines()[1:]
    assert [int(row.split(",")[0]) for row in rows] == list(range(1, len(rows) + 1)), "no frame twice"
    assert [row.split(",")[0] for row in rows if row.endswith(",1")] == [str(frame + 1)]
    assert [float(value) for value in rows[-1].split(",")[3:7]] == pytest.approx([30, 40, 50, 44], abs=1.5)


def test_comparison_side_by_side_overlay_wipe_and_where_they_part(open_page):
    page = open_page(**PARTING)
    finished(page, *PAIR)
    width = page.locator("#view-a").bounding_box()["width"]
    assert 2 * width > 0.75 * 1280, "side by side uses the room"
    page.keyboard.press("v")
    page.until("document.querySelector('#modes [data-mode=overlay]').ariaPressed === 'true'")
    page.until("!document.getElementById('view-b').checkVisibility()")
    page.click("#modes [data-mode=wipe]")
    page.until("document.getElementById('wipe').checkVisibility()")
    picture = "document.getElementById('view-a').toDataURL()"
    before = page.evaluate(picture)
    page.fill("#wipe", "10")
    page.wait(lambda: page.evaluate(picture) != before, "the wipe is to move")
    disagreements = page.state("state.run.disagreements()")
    assert disagreements == [[40, 59]]
    assert page.inner_text("#moments") == "disagree 41–60"
    page.click("#moments button")
    page.until("state.shown === 40")
    page.keyboard.press("Home")
    page.until("state.shown === 0")
    page.keyboard.press("n")
    page.until("state.shown === 40")


def test_a_learners_numbers_get_a_chart_each_by_key(open_page):
    class Learner(TrackerHandle):
        count = 0

        def update(self, frame):
            self.count += 1
            learner = {"updated": self.count % 10 == 0, "rank": self.count, "something_new": self.count / 7, "zero": 0}
            return {**super().update(frame), "score": 0.5, "learner": learner}

    page = open_page(load=lambda name: Learner(*name.split("/")))
    finished(page, "identity/default")
    keys = page.eval_on_selector_all("#insight [data-key]", "cards => cards.map((card) => card.dataset.key)")
    assert sorted(keys) == ["rank", "something_new"], "one for every key that has something to show"
    assert "directions" in page.inner_text("[data-key=rank]") and "something new" in page.inner_text("#insight")
    assert "14" in page.inner_text("#insight .panel") and "ticks: model updates" in page.inner_text("#legend")
