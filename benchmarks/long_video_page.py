"""Memory of the page during a long video: server, decoder and browser tab.

    python benchmarks/long_video_page.py [--minutes 10] [--tracker identity/default] [--every 1000]

A 720p video at 30 frames per second goes through a server in a separate process to a headless Chromium, which draws
every frame. Memory is the resident size of each process, read from /proc (Linux only), and the tab's JavaScript heap
after garbage collection. At the end, frames from the whole video are requested again. Needs the extras ``web``, ``dev``
and ``video``.
"""
from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import av
import cv2
import numpy as np
from playwright.sync_api import CDPSession, Page, sync_playwright

from pytracking.utils.video_writer import VideoWriter

FPS, SIZE = 30, (1280, 720)
PIECE = 300  # encoded frames, which the video repeats
SERVER = """
import sys
from pathlib import Path
import uvicorn
from pytracking.web.app import create_app
from pytracking.web.settings import WebSettings
folder, port = Path(sys.argv[1]), int(sys.argv[2])
settings = WebSettings(uploads=folder / "uploads", folders=(folder / "videos",), demo=False)
uvicorn.run(create_app(settings), host="127.0.0.1", port=port, log_level="error")
"""


def write_video(path: Path, frames: int) -> None:
    """Writes a video of a textured square that moves over a textured background, repeating one encoded piece."""
    rng = np.random.default_rng(0)
    ground = cv2.resize(rng.integers(0, 120, (45, 80, 3), np.uint8), SIZE, interpolation=cv2.INTER_CUBIC)
    target = cv2.resize(rng.integers(100, 255, (12, 12, 3), np.uint8), (120, 120), interpolation=cv2.INTER_CUBIC)
    piece = path.with_name("piece.mp4")
    with VideoWriter(piece, FPS) as writer:
        for index in range(PIECE):
            frame, x = ground.copy(), 100 + round(500 * (1 - np.cos(2 * np.pi * index / PIECE)))
            frame[300:420, x : x + 120] = target
            writer.write(frame)
    with av.open(str(path), "w") as out:
        stream = None
        for start in range(0, frames, PIECE):
            with av.open(str(piece)) as source:
                stream = stream or out.add_stream_from_template(source.streams.video[0])
                for packet in source.demux(video=0):
                    if packet.dts is None:
                        continue
                    shift = round(start / FPS / packet.time_base)
                    packet.pts, packet.dts, packet.stream = packet.pts + shift, packet.dts + shift, stream
                    out.mux(packet)
    piece.unlink()


def resident(pid: int) -> float:
    """Resident memory of a process in MB; 0 if it has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except FileNotFoundError:
        return 0.0
    return next((int(line.split()[1]) * 1024 / 1e6 for line in lines if line.startswith("VmRSS")), 0.0)


def children(pid: int) -> list[int]:
    return [int(one) for file in Path(f"/proc/{pid}/task").glob("*/children") for one in file.read_text().split()]


def tab_process(cdp: CDPSession) -> int:
    """The process that draws the page, assumed to be the largest renderer."""
    found = [one["id"] for one in cdp.send("SystemInfo.getProcessInfo")["processInfo"] if one["type"] == "renderer"]
    return max(found, key=resident)


def readings(cdp: CDPSession, server: int, tab: int, frames: Path) -> dict[str, float]:
    cdp.send("HeapProfiler.collectGarbage")
    heap = cdp.send("Runtime.getHeapUsage")["usedSize"] / 1e6
    kept = sum(file.stat().st_size for file in frames.glob("*.frames")) / 1e6
    decoder = sum(map(resident, children(server)))
    return {"server": resident(server), "decoder": decoder, "tab": resident(tab), "heap": heap, "disk": kept}


def drive(page: Page, browser: CDPSession, args: argparse.Namespace, server: int, folder: Path) -> None:
    cdp = page.context.new_cdp_session(page)
    value = lambda text: page.evaluate(f"(({{ state }}) => {text})(trackingPage)")  # noqa: E731
    while not value("Boolean(state.picture && state.video?.length)"):
        page.wait_for_timeout(100)
    length = value("state.video.length")
    print(f"{length} frames of {SIZE[0]} x {SIZE[1]}, {args.tracker}", flush=True)
    page.click("#box-numbers summary")
    for field, number in zip("xywh", (100, 300, 120, 120), strict=True):
        page.fill(f"#box-{field}", str(number))
    page.select_option("#more", args.tracker)
    began, tab, seen, mark = time.monotonic(), tab_process(browser), [], 200
    page.click("#start")
    while value("state.phase") != "idle" or value("(state.run?.count ?? 0) < 2"):
        page.wait_for_timeout(200)
        if (count := value("state.run?.count ?? 0")) >= mark:
            seen.append(readings(cdp, server, tab, folder / "uploads"))
            numbers = ", ".join(f"{name} {number:.0f}" for name, number in seen[-1].items())
            print(f"frame {count}, {count / (time.monotonic() - began):.1f} frames/s; MB: {numbers}", flush=True)
            mark = count - count % args.every + args.every
    print(page.inner_text("#status"), flush=True)
    for part in (0.0, 0.25, 0.5, 0.75, 1.0):
        frame = round(part * (length - 1))
        data = value(f"fetch(`/api/runs/${{state.run.id}}/frames/{frame}`).then((answer) => answer.status)")
        print(f"frame {frame + 1} requested again: status {data}", flush=True)
    for name in seen[0]:
        numbers = [one[name] for one in seen]
        print(f"{name}: {min(numbers):.0f} to {max(numbers):.0f} MB, first {numbers[0]:.0f}, last {numbers[-1]:.0f}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--tracker", default="identity/default", help="one of those under 'More trackers'")
    parser.add_argument("--every", type=int, default=1000, help="frames between two readings")
    parser.add_argument("--port", type=int, default=8765)
    args = parser.parse_args()
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "videos").mkdir()
        write_video(folder / "videos" / "long.mp4", round(args.minutes * 60 * FPS))
        command = [sys.executable, "-c", SERVER, name, str(args.port)]
        with subprocess.Popen(command) as process, sync_playwright() as playwright:
            try:
                wait_for_server(args.port)
                browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
                page = browser.new_page()
                page.set_default_timeout(600_000)
                page.goto(f"http://127.0.0.1:{args.port}")
                drive(page, browser.new_browser_cdp_session(), args, process.pid, folder)
                browser.close()
            finally:
                process.terminate()
    return 0


def wait_for_server(port: int) -> None:
    end = time.monotonic() + 240
    while True:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/server") as answer:
                json.load(answer)
            return
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.2)


if __name__ == "__main__":
    sys.exit(main())
