"""The page as a person uses it: choose, draw, watch, compare, correct, download."""
import csv
import threading

import pytest

pytest.importorskip("starlette", reason="the extra 'web' is not installed")

from pytracking.evaluation import get_dataset  # noqa: E402
from pytracking.evaluation.handle import TrackerHandle  # noqa: E402
from pytracking.web.app import create_app  # noqa: E402
from pytracking.web.ask_box import ask_in_browser  # noqa: E402
from pytracking.web.settings import WebSettings  # noqa: E402

WAIT = 60_000  # ms; a busy machine is slow
TRACKERS = ("identity/default", "opencv/kcf")


@pytest.fixture
def page(browser, serve, tmp_path):
    get_dataset("demo")  # rendered before the clock of the page's time-outs runs
    app = create_app(WebSettings(uploads=tmp_path / "uploads", default_tracker="identity/default"))
    page = browser.new_page(viewport={"width": 1280, "height": 800}, accept_downloads=True)
    page.set_default_timeout(WAIT)
    page.problems = []
    page.on("pageerror", lambda error: page.problems.append(str(error)))
    page.goto(serve(app))
    yield page
    assert page.problems == [], "scripts on the page failed"
    page.close()


def choose_demo(page, name: str) -> None:
    page.wait_for_selector(f"#video option:has-text('demo: {name}')", state="attached")
    page.select_option("#video", label=f"demo: {name}")
    page.wait_for_function("trackingPage.state.picture !== null")


def drag(page, canvas: str, box: list[float]) -> None:
    """Draws a box, given in pixels of the picture, with the mouse."""
    area = page.locator(canvas).bounding_box()
    width, height = page.eval_on_selector(canvas, "canvas => [canvas.width, canvas.height]")
    corner = lambda x, y: (area["x"] + x * area["width"] / width, area["y"] + y * area["height"] / height)  # noqa: E731
    page.mouse.move(*corner(box[0], box[1]))
    page.mouse.down()
    page.mouse.move(*corner(box[0] + box[2] / 2, box[1] + box[3] / 2))
    page.mouse.move(*corner(box[0] + box[2], box[1] + box[3]))
    page.mouse.up()


def typed_box(page) -> list[float]:
    return [float(page.input_value(f"#box-{name}")) for name in "xywh"]


def test_draw_track_compare_and_download(page, tmp_path):
    sequence = min(get_dataset("demo"), key=len)
    choose_demo(page, sequence.name)
    drag(page, "#view-a", sequence.ground_truth_rect[0].tolist())
    box = typed_box(page)
    assert box == pytest.approx(sequence.ground_truth_rect[0].tolist(), abs=1.5)
    page.select_option("#tracker-a", TRACKERS[0])
    page.select_option("#tracker-b", TRACKERS[1])
    page.click("#start")
    page.wait_for_function("trackingPage.chart.length >= 3")
    assert page.is_visible("#view-b"), "the second tracker has a view of its own"
    page.wait_for_selector("#download-csv:not([hidden])")
    assert page.evaluate("trackingPage.chart.length") == len(sequence)
    assert f"{len(sequence)} frames tracked" in page.inner_text("#status")
    with page.expect_download() as download:
        page.click("#download-csv")
    download.value.save_as(tmp_path / "boxes.csv")
    with open(tmp_path / "boxes.csv", newline="") as stream:
        rows = list(csv.DictReader(stream))
    for name in TRACKERS:
        expected = in_process(name, sequence, box)
        found = [[float(row[key]) for key in "xywh"] for row in rows if row["tracker"] == name]
        assert len(found) == len(expected)
        assert found == [pytest.approx(one, abs=0.011) for one in expected]


def in_process(name: str, sequence, box: list[float]) -> list[list[float]]:
    handle = TrackerHandle(*name.split("/"))
    boxes = [handle.init(sequence.load_frame(0), box)["target_bbox"]]
    return boxes + [handle.update(sequence.load_frame(i))["target_bbox"] for i in range(1, len(sequence))]


def test_pause_step_correct_by_keyboard_and_mouse(page):
    sequence = max(get_dataset("demo"), key=len)
    choose_demo(page, sequence.name)
    for field, value in zip("xywh", sequence.ground_truth_rect[0], strict=True):
        page.fill(f"#box-{field}", str(value))
    page.press("#box-h", "Enter")
    page.wait_for_function("trackingPage.state.frames >= 3")
    page.focus("#view-a")
    page.keyboard.press("Space")
    page.wait_for_function("trackingPage.state.paused")
    page.wait_for_timeout(700)  # frames in flight arrive
    frames = page.evaluate("trackingPage.state.frames")
    page.wait_for_timeout(300)
    assert page.evaluate("trackingPage.state.frames") == frames, "paused means that nothing moves"
    page.keyboard.press(".")
    page.wait_for_function(f"trackingPage.state.frames === {frames + 1}")
    page.keyboard.press("c")
    drag(page, "#view-a", [30.0, 40.0, 50.0, 44.0])
    page.wait_for_function(f"trackingPage.state.frames > {frames + 3}")
    page.keyboard.press("Escape")
    page.wait_for_selector("#download-csv:not([hidden])")
    with page.expect_download() as download:
        page.click("#download-csv")
    last = download.value.path().read_text().splitlines()[-1].split(",")
    assert [float(value) for value in last[2:6]] == pytest.approx([30, 40, 50, 44], abs=1.5), "the new box was taken"


def test_an_error_is_shown_and_the_page_goes_on(page):
    sequence = min(get_dataset("demo"), key=len)
    choose_demo(page, sequence.name)
    for field, value in zip("xywh", (5000, 5000, 20, 20), strict=True):
        page.fill(f"#box-{field}", str(value))
    page.click("#start")
    page.wait_for_selector("#status.error")
    assert "tracker failed" in page.inner_text("#status")
    drag(page, "#view-a", [60.0, 60.0, 40.0, 40.0])
    page.click("#start")
    page.wait_for_function("trackingPage.state.frames >= 2")


def test_upload_of_something_else_is_refused_with_a_sentence(page, tmp_path):
    (tmp_path / "fake.mp4").write_text("<html>not a video</html>")
    page.set_input_files("#upload", tmp_path / "fake.mp4")
    page.wait_for_selector("#status.error")
    assert "cannot be decoded" in page.inner_text("#status")


def test_phone_width_has_no_sideways_scrolling(page):
    page.set_viewport_size({"width": 390, "height": 800})
    sequence = min(get_dataset("demo"), key=len)
    choose_demo(page, sequence.name)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert page.locator("#view-a").bounding_box()["width"] > 300


def test_a_machine_without_a_screen_asks_for_the_box_in_the_browser(browser, capsys):
    frame, answer = get_dataset("demo")[0].load_frame(0), []
    thread = threading.Thread(target=lambda: answer.append(ask_in_browser(frame)), daemon=True)
    thread.start()
    address = ""
    while "http://" not in address:
        address += capsys.readouterr().out
    page = browser.new_page()
    page.goto(address.split()[address.split().index("browser:") + 1])
    page.wait_for_function("document.getElementById('picture').width > 100")
    drag(page, "#picture", [20.0, 30.0, 60.0, 50.0])
    page.click("#take")
    thread.join(timeout=20)
    page.close()
    assert answer and answer[0] == pytest.approx([20, 30, 60, 50], abs=1.5)
