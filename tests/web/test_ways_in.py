"""Ways to use the page: files, camera, phone, keyboard, links, themes; and the pages beside it."""
import json
import re
import shlex
import threading
import time
from pathlib import Path

import cv2
import numpy as np
import pytest

pytest.importorskip("starlette", reason="the extra 'web' is not installed")

import pytracking.web  # noqa: E402
from pytracking.analysis.playback import write_page  # noqa: E402
from pytracking.cli.commands import command_parser  # noqa: E402
from pytracking.evaluation import get_dataset  # noqa: E402
from pytracking.web.ask_box import ask_in_browser  # noqa: E402
from tests.web.users import FAST, PAIR, PARTING, PATIENCE, copied, finished  # noqa: E402


def test_a_dropped_file_is_uploaded_and_shown(open_page, tmp_path):
    page = open_page()
    writer = cv2.VideoWriter(str(tmp_path / "dropped.avi"), cv2.VideoWriter_fourcc(*"MJPG"), 25.0, (128, 96))
    for index in range(20):
        writer.write(np.full((96, 128, 3), 40 + index, np.uint8))
    writer.release()
    data = list((tmp_path / "dropped.avi").read_bytes())
    page.evaluate(
        """(data) => {
          const transfer = new DataTransfer();
          transfer.items.add(new File([new Uint8Array(data)], "dropped.avi", { type: "video/x-msvideo" }));
          for (const kind of ["dragenter", "drop"]) {
            window.dispatchEvent(new DragEvent(kind, { dataTransfer: transfer, cancelable: true, bubbles: true }));
          }
        }""",
        data,
    )
    page.until("state.video?.title === 'dropped.avi' && state.picture?.width === 128")
    assert page.get_attribute("#gallery button:has-text('dropped.avi')", "aria-pressed") == "true"
    page.drag([20, 20, 40, 40])
    page.track()
    page.until("state.run?.count === 20 && state.phase === 'idle'")


def test_upload_of_something_else_is_refused_with_a_sentence(open_page, tmp_path):
    page = open_page()
    (tmp_path / "fake.mp4").write_text("<html>not a video</html>")
    page.expected = ("415",)  # Chromium notes the answer
    page.set_input_files("#upload", tmp_path / "fake.mp4")
    page.says("cannot be decoded")
    page.wait_for_selector("#status.error")


def test_a_file_that_cannot_be_read_is_marked_and_the_page_opens_with_the_next(open_page, folder):
    (folder / "a_broken.mp4").write_bytes(b"nothing")
    page = open_page(folders=(folder,), demo=False)
    page.expected = ("422",)  # Chromium notes the answers
    page.until("state.video?.title === 'deep/clip.avi' && state.picture")
    page.wait_for_selector("#gallery button:has-text('a_broken.mp4') small:has-text('cannot be read')")


def test_an_error_is_shown_and_the_page_goes_on(open_page):
    page = open_page(**FAST)
    page.choose_demo("bird")
    page.click("#box-numbers summary")
    for field, value in zip("xywh", (5000, 5000, 20, 20), strict=True):
        page.fill(f"#box-{field}", str(value))
    page.click("#start")
    page.says("The tracker failed")
    page.wait_for_selector("#status.error")
    page.drag([60, 60, 40, 40])
    page.click("#start")
    page.until("state.run?.count >= 2")


def test_the_camera_of_the_browser_with_its_latency(open_page):
    page = open_page(permissions=["camera"], **FAST)
    page.click("#camera")
    page.until("state.video?.kind === 'camera' && state.picture")
    page.until("document.getElementById('view-a').width === state.picture.width")
    page.drag([100, 100, 120, 90])
    page.click("#start")
    page.until("state.run?.count >= 12")
    page.wait(lambda: re.search(r"\d+ ms from camera to box", page.status), "the latency is to be shown")
    page.keyboard.press("Escape")
    page.until("state.phase === 'idle'")
    page.keyboard.press("Home")
    first_box = "state.shown === 0 && state.message?.index === 0 ? state.message.trackers[0].objects[0].box : null"
    drawn = pytest.approx([100, 100, 120, 90], abs=1.5)
    page.wait(lambda: page.state(first_box) == drawn, "the first frame is to be shown with the box that was drawn")


def test_nothing_can_be_drawn_on_before_the_camera_is_open(open_page):
    page = open_page(permissions=["camera"], **FAST)
    page.choose_demo("bird")
    page.evaluate(
        """() => {
          const devices = navigator.mediaDevices, open = devices.getUserMedia.bind(devices);
          devices.getUserMedia = (wish) => new Promise((go) => { window.letOpen = go; }).then(() => open(wish));
        }"""
    )
    page.click("#camera")
    page.until("state.video?.kind === 'camera'")
    assert page.state("state.picture === null")
    page.evaluate("() => window.letOpen()")
    page.until("state.picture")


def test_without_a_camera_the_video_stays(open_page):
    page = open_page(**FAST)
    page.choose_demo("bird")
    refuse = "() => Promise.reject(new DOMException('', 'NotFoundError'))"
    page.evaluate(f"() => {{ navigator.mediaDevices.getUserMedia = {refuse}; }}")
    page.click("#camera")
    page.says("No camera is available")
    page.until("state.video?.title === 'demo: bird' && state.choice.objects.length === 1")
    page.click("#start")
    page.until("state.run?.count > 1")


def test_phone_the_picture_and_controls_are_in_view_after_track(open_page):
    page = open_page(viewport=(390, 800), context={"has_touch": True, "is_mobile": True})
    page.choose_demo("lantern_long")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.select_option("#compare", "opencv/kcf")
    page.click("#start")
    page.until("state.run?.count >= 5 && state.shown >= 4")
    for what in ("#view-a", "#view-b", "#play", "#stop", "#correct"):
        area = page.locator(what).bounding_box()
        assert area and area["y"] >= 0 and area["y"] + area["height"] <= 800, f"{what} is out of view"
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_keyboard_only_from_load_to_download(open_page):
    page = open_page(**FAST)
    page.until("state.choice.objects.length && state.picture")

    def tab_to(selector: str) -> None:
        for _ in range(80):
            if page.evaluate(f"document.activeElement.matches({json.dumps(selector)})"):
                return
            page.keyboard.press("Tab")
        raise AssertionError(f"{selector} is not reached")

    tab_to("#gallery button:nth-child(1)")
    for _ in range(3):  # to the fourth: bird
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.until("state.video?.title === 'demo: bird' && state.choice.objects.length && state.picture")
    tab_to("#compare")
    while page.input_value("#compare") != "opencv/kcf":  # not by its letters: a slow machine takes them for several
        page.keyboard.press("ArrowDown")
        page.until("document.getElementById('compare').value")
    tab_to("#start")
    page.keyboard.press("Enter")
    page.until("state.run?.count > 1 && state.phase === 'idle'")
    page.keyboard.press("ArrowLeft")
    page.until("state.shown === state.run.last - 1")
    tab_to("#downloads summary")
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")  # out of the menu, and in again
    page.until("!document.getElementById('downloads').open && document.activeElement.matches('#downloads summary')")
    page.keyboard.press("Enter")
    tab_to("#download-csv")
    with page.expect_download() as download:
        page.keyboard.press("Enter")
    assert download.value.suggested_filename == "bird_identity-default_vs_opencv-kcf.csv"


def test_a_link_reopens_the_comparison_and_a_command_repeats_it(open_page):
    page = open_page(permissions=["clipboard-read", "clipboard-write"], **PARTING)
    finished(page, *PAIR)
    commands = copied(page, "#copy-command", "Command copied").splitlines()
    assert len(commands) == 2
    words = shlex.split(commands[1])
    assert words[:2] == ["pytracking", "video"]
    arguments = command_parser("video").parse_args(words[2:])
    assert (arguments.tracker_name, arguments.tracker_param, arguments.video) == ("opencv", "kcf", "demo:bird")
    assert arguments.boxes == [[175, 102, 51, 51]] and arguments.save_results
    link = copied(page, "#copy-link", "Link copied")
    page.goto("about:blank")
    page.goto(link)
    page.until("state.run?.count === 150")
    assert page.state("state.run.names") == list(PAIR) and page.state("state.run.disagreements()") == [[40, 59]]
    page.expected = ("404",)
    page.goto("about:blank")
    page.goto(link[: link.index("&run=")] + "&run=gone")  # as after the server was started again
    page.until("state.video?.title === 'demo: bird' && state.choice.objects.length")
    assert page.state("trackingPage.chosen()") == list(PAIR)


CONTRAST = """() => {
  const context = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const pixel = (colours) => {
    context.clearRect(0, 0, 1, 1);
    for (const colour of colours) { context.fillStyle = colour; context.fillRect(0, 0, 1, 1); }
    return [...context.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const light = (rgb) => rgb.map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const low = [];
  for (const element of document.querySelectorAll("body *")) {
    const text = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!text || !element.checkVisibility() || element.closest(".tile small")) continue;
    const grounds = [];
    for (let up = element; up; up = up.parentElement) grounds.unshift(getComputedStyle(up).backgroundColor);
    const [a, b] = [light(pixel(grounds)), light(pixel([...grounds, getComputedStyle(element).color]))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) low.push(`${element.tagName} "${element.textContent.trim().slice(0, 30)}" ${ratio.toFixed(2)}`);
  }
  return low;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_the_contrast_of_aa_and_controls_have_names(open_page, scheme):
    page = open_page(context={"color_scheme": scheme}, **FAST)
    page.until("state.picture")
    assert page.evaluate(CONTRAST) == []
    finished(page, *PAIR)
    assert page.evaluate(CONTRAST) == []
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(int(x) for x in re.findall(r"\d+", background)[:3]) < 200) == (scheme == "dark")
    nameless = page.evaluate(
        """() => [...document.querySelectorAll("button, a, select, input, canvas, [role=slider]")]
        .filter((one) => !(one.ariaLabel || one.textContent.trim() || one.labels?.length || one.title))
        .map((one) => one.outerHTML)"""
    )
    assert nameless == []


def test_a_machine_without_a_screen_asks_for_the_box_in_the_browser(browser, capsys):
    frame, answer = get_dataset("demo")[0].load_frame(0), []
    thread = threading.Thread(target=lambda: answer.append(ask_in_browser(frame)), daemon=True)
    thread.start()
    address = ""
    while "http://" not in address:
        time.sleep(0.02)
        address += capsys.readouterr().out
    page = browser.new_page()
    page.goto(address.split()[address.split().index("browser:") + 1])
    page.wait_for_selector("#picture")
    while page.evaluate("document.getElementById('picture').width") < 310:
        page.wait_for_timeout(30)
    area = page.locator("#picture").bounding_box()
    scale = area["width"] / 320
    page.mouse.move(area["x"] + 20 * scale, area["y"] + 30 * scale)
    page.mouse.down()
    page.mouse.move(area["x"] + 80 * scale, area["y"] + 80 * scale)
    page.mouse.up()
    page.click("#take")
    thread.join(timeout=PATIENCE)
    page.close()
    assert answer and answer[0] == pytest.approx([20, 30, 60, 50], abs=1.5)


def test_plays_page_works_from_a_file_and_shares_the_look(browser, tmp_path):
    sequence = get_dataset("demo")["bird"]
    truth = sequence.ground_truth_rect
    lost = truth + np.where(np.arange(len(truth)) >= 90, 90.0, 0.0)[:, None] * [1, 0, 0, 0]
    write_page(tmp_path / "play.html", sequence, {"good": truth + [1, 0, 0, 0], "lost": lost}, fps=50)
    page, problems = browser.new_page(), []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda message: message.type == "error" and problems.append(message.text))
    page.goto((tmp_path / "play.html").as_uri())
    page.wait_for_selector("#moments button")
    page.set_default_timeout(PATIENCE * 1000)
    frame = "Number(document.getElementById('timeline').ariaValueNow)"  # drawn as soon as its picture is decoded
    page.keyboard.press("Home")
    page.wait_for_function(f"{frame} === 1 && document.getElementById('where').textContent === 'frame 1 of 150'")
    assert page.inner_text("#legend label:has-text('lost') .value") != ""
    page.keyboard.press("ArrowRight")
    page.wait_for_function(f"{frame} === 2")
    page.click("#moments button >> nth=0")
    page.wait_for_function(f"{frame} >= 85")
    area = page.locator("#timeline").bounding_box()
    page.mouse.click(area["x"] + 34 + 0.5 * (area["width"] - 42), area["y"] + 40)
    page.wait_for_function(f"Math.abs({frame} - 75) <= 2")
    page.keyboard.press("Space")
    page.wait_for_function(f"{frame} > 80")
    ours = page.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--accent')")
    page.close()
    style = (Path(pytracking.web.__file__).with_name("static") / "shared" / "style.css").read_text()
    assert ours.strip() in style and problems == []
