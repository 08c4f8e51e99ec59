"""Takes the screenshots of the web page for README.md and docs/video.md: ``python docs/make_screenshots.py``.

Needs the extras ``web`` and ``dev`` and Chromium.
"""
from __future__ import annotations

import argparse
import shutil
import socket
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import uvicorn
from playwright.sync_api import Page, sync_playwright

from pytracking.analysis.playback import write_page
from pytracking.evaluation import get_dataset
from pytracking.web.app import create_app
from pytracking.web.settings import WebSettings

OUTPUT = Path(__file__).parent / "img"
BUTTERFLIES = ([200, 52, 78, 82], [46, 20, 52, 48], [58, 157, 48, 46])  # those without annotation
TARGET_FRAME = 2  # for several targets: soon after, they cover each other and two are confused
TRACKERS = ("rls_dimp/default", "dimp/bgd")
WAIT = 600  # seconds
DESKTOP, PHONE = {"width": 1360, "height": 800}, {"width": 390, "height": 844}


def start_server(uploads: Path) -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = uvicorn.Server(
        uvicorn.Config(create_app(WebSettings(uploads=uploads)), host="127.0.0.1", port=port, log_level="warning")
    )
    threading.Thread(target=server.run, daemon=True).start()
    while not server.started:
        time.sleep(0.05)
    return f"http://127.0.0.1:{port}"


def until(page: Page, expression: str) -> None:
    """Waits until an expression on the page's state is true (the page's policy forbids Playwright's own wait: eval)."""
    end = time.monotonic() + WAIT
    while not page.evaluate(f"(({{ state, chosen }}) => Boolean({expression}))(trackingPage)"):
        if time.monotonic() > end:
            raise TimeoutError(f"{expression}; the page says: {page.inner_text('#status')}")
        page.wait_for_timeout(100)


def take(page: Page, name: str, **options) -> None:
    page.mouse.move(5, 5)
    page.wait_for_timeout(700)
    page.screenshot(path=OUTPUT / f"web_{name}.png", **options)
    print(OUTPUT / f"web_{name}.png", flush=True)


def look_at(page: Page, frame: int) -> None:
    area = page.locator("#timeline").bounding_box()
    length = page.evaluate("trackingPage.state.video.length")
    page.mouse.click(area["x"] + 34 + (area["width"] - 42) * frame / (length - 1), area["y"] + 40)
    until(page, f"Math.abs(state.shown - {frame}) <= 1")


def page_pictures(page: Page, sequence: str, frames: int) -> None:
    """Takes the start, tracking, comparison, scrubbing, dark and phone views."""
    page.click(f"#gallery button:has-text('{sequence}') >> nth=0")
    until(page, f"state.video?.title === 'demo: {sequence}' && state.picture && chosen().length")
    take(page, "start")
    page.click("#start")
    until(page, f"state.run?.count >= {frames}")
    take(page, "tracking")
    page.keyboard.press("Escape")
    until(page, "state.phase === 'idle'")
    page.click("#setup-toggle")
    page.click(f"#gallery button:has-text('{sequence}') >> nth=0")
    until(page, "!state.run && state.picture && state.choice.objects.length")
    page.select_option("#compare", TRACKERS[1])
    page.click("#start")
    until(page, "state.run?.count > 1 && state.phase === 'idle'")
    take(page, "comparison", full_page=True)
    disagreements = page.evaluate("trackingPage.state.run.disagreements()")
    longest = max(disagreements, key=lambda span: span[1] - span[0]) if disagreements else [frames, frames]
    look_at(page, sum(longest) // 2)
    page.click("#modes [data-mode=overlay]")
    take(page, "scrub")
    page.emulate_media(color_scheme="dark")
    page.click("#modes [data-mode=side]")
    take(page, "dark")
    page.set_viewport_size(PHONE)
    page.emulate_media(color_scheme="light")
    take(page, "phone")
    page.set_viewport_size(DESKTOP)


def draw(page: Page, box: list[float]) -> None:
    """Draws a box, given in pixels of the frame."""
    area = page.locator("#view-a").bounding_box()
    scale = area["width"] / page.evaluate("document.getElementById('view-a').width")
    corners = [(box[0] + part * box[2], box[1] + part * box[3]) for part in (0, 0.5, 1)]
    (x, y), *rest = [(area["x"] + scale * x, area["y"] + scale * y) for x, y in corners]
    page.mouse.move(x, y)
    page.mouse.down()
    for x, y in rest:
        page.mouse.move(x, y)
    page.mouse.up()


def targets_picture(page: Page, frames: int) -> None:
    """Takes the view of four butterflies tracked at once."""
    if page.is_visible("#setup-toggle"):
        page.click("#setup-toggle")
    page.click("#gallery button:has-text('butterflies') >> nth=0")
    until(page, "state.video?.title === 'demo: butterflies' && state.picture && state.choice.objects.length === 1")
    page.select_option("#compare", "")
    for count, box in enumerate(BUTTERFLIES, start=2):
        page.click("#add-target")
        draw(page, box)
        until(page, f"state.choice.objects.length === {count}")
    page.click("#start")
    until(page, f"state.run?.count >= {frames}")
    page.keyboard.press("Space")
    until(page, "state.paused")
    look_at(page, TARGET_FRAME)
    take(page, "targets", clip={"x": 0, "y": 54, "width": DESKTOP["width"], "height": DESKTOP["height"] - 54})
    page.keyboard.press("Escape")
    until(page, "state.phase === 'idle'")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sequence", default="runner", help="sequence of the demo dataset")
    parser.add_argument("--frames", type=int, default=90, help="frames tracked before the second picture")
    parser.add_argument("--only-targets", action="store_true", help="take only the picture of several targets")
    args = parser.parse_args()
    OUTPUT.mkdir(exist_ok=True)
    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport=DESKTOP)
        page.set_default_timeout(1000 * WAIT)
        address = start_server(Path(folder))
        page.goto(address)
        if not args.only_targets:
            page_pictures(page, args.sequence, args.frames)
            playback_picture(page, args.sequence, compared_boxes(page), Path(folder))
            page.goto(address)
        targets_picture(page, args.frames // 3)
        browser.close()
    return 0


def compared_boxes(page: Page) -> dict[str, np.ndarray]:
    """Returns the boxes of the run in view, by tracker title."""
    run = "trackingPage.state.run"
    values = f"{run}.trackers.map((_, place) => {run}.track(place).boxes)"
    columns = page.evaluate(f"{values}.map((boxes) => [...boxes.values].slice(0, 4 * boxes.count))")
    return {title: np.array(one).reshape(-1, 4) for title, one in zip(("RLS-DiMP", "BGD-DiMP"), columns, strict=True)}


def playback_picture(page: Page, name: str, boxes: dict[str, np.ndarray], folder: Path) -> None:
    """Takes the page that ``pytracking play`` writes for the same boxes."""
    write_page(folder / "play.html", get_dataset("demo")[name], boxes)
    page.goto((folder / "play.html").as_uri())
    page.wait_for_timeout(700)
    page.screenshot(path=OUTPUT / "analysis_page.png")
    print(OUTPUT / "analysis_page.png", flush=True)


if __name__ == "__main__":
    sys.exit(main())
