"""Takes the pictures of the page for the README and docs/video.md: ``python docs/make_screenshots.py``.

Needs the extras ``web`` and ``dev`` and a Chromium on this machine.
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

import uvicorn
from playwright.sync_api import Page, sync_playwright

from pytracking.web.app import create_app
from pytracking.web.settings import WebSettings

OUTPUT = Path(__file__).parent / "img"
TRACKERS = ("rls_dimp/default", "dimp/bgd")
WAIT = 180_000  # ms


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


def choose(page: Page, sequence: str) -> None:
    label = f"demo: {sequence}"
    page.wait_for_selector(f"#video option:has-text('{label}')", state="attached")
    page.select_option("#video", label=label)
    page.wait_for_function("trackingPage.state.picture !== null")
    for name in "xywh":
        page.fill(f"#box-{name}", page.get_attribute(f"#box-{name}", "placeholder") or "")


def track(page: Page, frames: int) -> None:
    page.click("#start")
    page.wait_for_function(f"trackingPage.state.frames >= {frames}")
    page.click("#pause")
    page.wait_for_timeout(1500)


def take(page: Page, name: str) -> None:
    page.screenshot(path=OUTPUT / f"web_{name}.png")
    print(OUTPUT / f"web_{name}.png")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sequence", default="beetle", help="of the demo dataset")
    parser.add_argument("--frames", type=int, default=90, help="frames tracked before a picture is taken")
    args = parser.parse_args()
    OUTPUT.mkdir(exist_ok=True)
    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1360, "height": 760})
        page.set_default_timeout(WAIT)
        page.goto(start_server(Path(folder)))
        choose(page, args.sequence)
        take(page, "idle")
        page.select_option("#tracker-a", TRACKERS[0])
        track(page, args.frames)
        take(page, "tracking")
        page.click("#stop")
        page.select_option("#tracker-b", TRACKERS[1])
        page.wait_for_selector("#download-csv:not([hidden])")
        track(page, args.frames)
        take(page, "comparison")
        page.set_viewport_size({"width": 390, "height": 844})
        page.wait_for_timeout(300)
        take(page, "phone")
        page.set_viewport_size({"width": 1360, "height": 760})
        page.click("#stop")
        page.wait_for_selector("#download-csv:not([hidden])")
        page.fill("#box-x", "5000")
        page.click("#start")
        page.wait_for_selector("#status.error")
        take(page, "error")
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
