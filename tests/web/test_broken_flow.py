"""What once went wrong in the normal flow, each as a person met it."""
import math

import cv2
import numpy as np
import pytest

pytest.importorskip("starlette", reason="the extra 'web' is not installed")

from pytracking.evaluation.handle import TrackerHandle  # noqa: E402
from pytracking.utils import video_writer  # noqa: E402
from pytracking.utils.video_writer import VideoWriter  # noqa: E402
from pytracking.web.app import create_app  # noqa: E402
from pytracking.web.settings import WebSettings  # noqa: E402
from tests.web.users import at_rest  # noqa: E402


def test_space_after_track_pauses_and_does_not_start_again(open_page):
    page = open_page()
    page.choose_demo("lantern_long")
    page.focus("#start")
    page.keyboard.press("Enter")
    page.keyboard.press("Space")  # focus was on the button: this once submitted again
    page.until("state.run?.count >= 2")
    run = page.state("state.run.id")
    if not page.state("state.paused"):  # the space came before the first frame
        page.keyboard.press("Space")
    page.until("state.paused")
    frames = at_rest(page) + 1  # paused means that nothing moves
    assert page.state("[state.run.id, state.run.count]") == [run, frames]
    page.focus("#correct")  # the keys work while a button has the focus
    page.keyboard.press(".")
    page.until(f"state.run.count === {frames + 1}")
    page.keyboard.press("c")
    page.until("state.correcting")
    page.keyboard.press("Escape")  # first out of the correction, then out of the run
    page.until("!state.correcting && state.phase === 'running'")
    page.keyboard.press("Escape")
    page.until("state.phase === 'idle'")
    page.says("Stopped")


def test_a_double_click_on_track_starts_one_run(open_page):
    page = open_page()
    page.choose_demo("lantern_long")
    page.dblclick("#start")
    page.until("state.run?.count >= 5")
    page.click("#stop")
    page.until("state.phase === 'idle'")
    assert page.state("state.run.count") >= 5


def stopped_after_twelve(open_page):
    page = open_page()
    page.choose_demo("lantern_long")
    page.track()
    page.until("state.run?.count >= 12")
    page.click("#stop")
    page.until("state.phase === 'idle'")
    return page


def test_a_box_drawn_on_a_later_frame_is_applied_there(open_page):
    page = stopped_after_twelve(open_page)
    shown = page.state("state.shown")
    assert shown >= 11
    page.drag([100, 100, 60, 50])
    page.until(f"document.getElementById('start').textContent === 'Track from frame {shown + 1}'")
    page.click("#start")
    page.until("state.run?.count >= 2")
    assert page.state("state.run.start") == shown
    assert page.state("state.run.track(0).boxes.at(0)") == pytest.approx([100, 100, 60, 50], abs=1.5)


def test_changing_the_tracker_shows_no_box_of_another_frame(open_page):
    page = stopped_after_twelve(open_page)
    page.click("#setup-toggle")
    page.drawn()
    picture = "document.getElementById('view-a').toDataURL()"
    before = page.evaluate(picture)
    page.select_option("#more", "opencv/mil")
    page.until("trackingPage.chosen()[0] === 'opencv/mil'")
    assert page.evaluate(picture) == before


@pytest.mark.parametrize(("suffix", "h264"), [(".mp4", True), (".mp4", False), (".webm", False)])
def test_written_videos_play_in_the_browser(browser, tmp_path, monkeypatch, suffix, h264):
    if not h264:  # as where no encoder is installed
        monkeypatch.setattr(video_writer, "pyav_h264", lambda: None)
        monkeypatch.setattr(video_writer, "opencv_h264", lambda: False)
    with VideoWriter(tmp_path / f"a{suffix}", 25.0) as writer:
        for index in range(30):
            frame = np.full((120, 161, 3), 40, np.uint8)
            cv2.rectangle(frame, (20 + index, 30), (60 + index, 80), (255, 138, 61), 2)
            writer.write(frame)
    (tmp_path / "page.html").write_text(f'<video id="v" muted autoplay src="a{suffix}"></video>')
    page = browser.new_page()
    page.goto((tmp_path / "page.html").as_uri())
    page.wait_for_function("v.error !== null || v.currentTime > 0.4")
    assert page.evaluate("v.error && v.error.message") is None
    assert page.evaluate("[v.videoWidth, v.videoHeight]") == [162, 120]
    page.close()


def test_the_servers_end_is_said_and_its_return_too(open_page, serve, tmp_path):
    page = open_page()
    page.choose_demo("lantern_long")
    page.track()
    page.until("state.run?.count >= 5")
    page.expected = ("ERR_",)  # Chromium notes what is not answered
    page.server.end()
    page.until("state.phase === 'idle'")
    page.says("server has stopped")
    assert "at frame" in page.status and page.is_enabled("#setup-toggle")
    tracker = "identity/default"
    settings = WebSettings(uploads=tmp_path / "again", trackers=(tracker,), default_tracker=tracker)
    again = serve(create_app(settings), port=page.server.port)
    page.until("document.getElementById('status').textContent.startsWith('The server is back')")
    page.click("#setup-toggle")
    page.click("#start")
    page.until("state.run?.count >= 3 && !state.run.gone")
    page.goto("about:blank")
    again.end()


def test_a_video_that_is_gone_after_a_restart_is_named(open_page, serve, tmp_path):
    page = open_page()
    writer = cv2.VideoWriter(str(tmp_path / "mine.avi"), cv2.VideoWriter_fourcc(*"MJPG"), 25.0, (128, 96))
    for _ in range(300):
        writer.write(np.full((96, 128, 3), 60, np.uint8))
    writer.release()
    page.set_input_files("#upload", tmp_path / "mine.avi")
    page.until("state.video?.title === 'mine.avi' && state.picture")
    page.drag([20, 20, 40, 40])
    page.track()
    page.until("state.run?.count >= 3")
    page.expected = ("ERR_",)  # Chromium notes what is not answered
    page.server.end()
    page.until("state.phase === 'idle'")
    serve(create_app(WebSettings(uploads=tmp_path / "again")), port=page.server.port)
    page.until("document.getElementById('status').textContent.includes('upload it again')")
    assert page.locator("#gallery button:has-text('mine.avi')").count() == 0, "the list is not stale"


def test_a_number_that_json_does_not_know_does_not_stop_the_page(open_page):
    class Odd(TrackerHandle):
        def update(self, frame):
            return {**super().update(frame), "score": math.nan, "learner": {"loss": math.nan, "updated": True}}

    page = open_page(load=lambda name: Odd(*name.split("/")))
    page.choose_demo("bird")
    page.track()
    page.until("state.run?.count >= 1 && state.phase === 'idle'")
    page.says("Done")
    assert page.state("state.run.count") == 150
