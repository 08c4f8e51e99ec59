"""The page under load: does anything grow, is everybody served, is the next one told?

    python -m tests.faults.page_load viewers --count 8 --tracker rls_dimp/default
    python -m tests.faults.page_load cycles --count 1000
    python -m tests.faults.page_load files --count 300

``viewers`` watches videos over as many connections at once and tries one more. ``cycles`` connects, starts a run,
takes a frame and goes away, by turns politely and with the line cut. ``files`` uploads damaged videos. The server is
a process of its own, and what it holds is read from /proc.
"""
from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import cv2
import numpy as np
from websockets.sync.client import ClientConnection, connect

from pytracking.web.settings import WebSettings

ROOT = Path(__file__).parents[2]
VISITORS = 4  # at a time
POOL = 8  # threads of the server's pool that come and go with the moment
PATIENCE = 240.0  # seconds for one message, on a machine that is busy


@dataclass(frozen=True)
class Holding:
    """What a process holds."""

    resident_mib: float
    threads: int
    descriptors: int
    children: int

    @classmethod
    def of(cls, pid: int) -> Holding:
        status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
        children = Path(f"/proc/{pid}/task").glob("*/children")
        return cls(
            int(status["VmRSS"].split()[0]) / 1024, int(status["Threads"]), len(os.listdir(f"/proc/{pid}/fd")),
            sum(len(file.read_text().split()) for file in children),
        )  # fmt: skip


@dataclass(frozen=True)
class Server:
    """A server in a process of its own."""

    pid: int
    port: int
    folder: str
    videos: dict[str, str] = field(default_factory=dict)  # ids by kind, one of each

    def get(self, path: str) -> object:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=PATIENCE) as answer:
            return json.load(answer)

    def upload(self, data: bytes) -> int:
        """The status that an upload is answered with."""
        address = f"http://127.0.0.1:{self.port}/api/videos?name=a.mp4"
        try:
            return urllib.request.urlopen(urllib.request.Request(address, data), timeout=PATIENCE).status
        except urllib.error.HTTPError as error:
            return error.code

    def viewer(self, tracker: str, kind: str = "folder") -> Viewer:
        return Viewer(self, tracker, kind)

    def settled(self, seconds: float = 60.0) -> Holding:
        """What it holds once no decoder of a run is left, and a second has passed in which nothing was closed."""
        end, quiet_since, last = time.monotonic() + seconds, time.monotonic(), None
        while time.monotonic() < end:
            holding = Holding.of(self.pid)
            now = holding.descriptors, holding.children
            if now != last or holding.children > 2:  # two are kept for previews
                last, quiet_since = now, time.monotonic()
            elif time.monotonic() - quiet_since > 1.0:
                break
            time.sleep(0.1)
        return holding


class Viewer:
    """A page without a browser."""

    def __init__(self, server: Server, tracker: str, kind: str) -> None:
        address = f"ws://127.0.0.1:{server.port}/api/track"
        self.socket: ClientConnection = connect(address, max_size=None, open_timeout=PATIENCE).__enter__()
        self.frames, self.run, self.ended = 0, None, None
        objects = [{"id": 1, "box": [20, 30, 40, 40]}]
        self.say(type="start", video=server.videos[kind], frame=0, objects=objects, trackers=[tracker])

    def say(self, **message: object) -> None:
        self.socket.send(json.dumps({"run": self.run, **message}))

    def take(self) -> dict:
        """The next message; a frame is not yet acknowledged."""
        data = self.socket.recv(timeout=PATIENCE)
        if isinstance(data, str):
            message = json.loads(data)
            self.run = message.get("run", self.run)
            if message["type"] in ("end", "error", "refused"):
                self.ended = message
            return message
        self.frames += 1
        return json.loads(data[4 : 4 + int.from_bytes(data[:4], "big")])

    def first_frame(self) -> None:
        while not self.frames and self.ended is None:
            self.take()

    def watch(self, until: threading.Event) -> None:
        """Acknowledges and takes frames until the end, or until somebody else is done."""
        self.say(type="drawn", index=self.frames - 1)
        while self.ended is None and not until.is_set():
            message = self.take()
            if message["type"] == "frame":
                self.say(type="drawn", index=message["index"])
        until.set()

    def cut(self) -> None:
        """As when the machine is switched off."""
        self.socket.socket.shutdown(socket.SHUT_RDWR)


def write_video(path: Path, frames: int) -> Path:
    """A textured square that wanders over a textured ground."""
    rng = np.random.default_rng(0)
    ground = cv2.resize(rng.integers(0, 120, (24, 32, 3), np.uint8), (320, 240))
    target = rng.integers(100, 255, (40, 40, 3), np.uint8)
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter_fourcc(*"mp4v"), 30.0, (320, 240))
    for index in range(frames):
        frame, x = ground.copy(), 20 + round(100 * (1 - np.cos(index / 60)))
        frame[30:70, x : x + 40] = target
        writer.write(frame)
    writer.release()
    return path


def serve(folder: Path, settings: dict) -> None:
    """The server's process: prints its port, then serves."""
    import uvicorn

    from pytracking.web.app import create_app

    made = WebSettings(uploads=folder / "uploads", folders=(folder / "videos",), **settings)
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        print(listening.getsockname()[1], flush=True)
        config = uvicorn.Config(create_app(made), log_level="error", ws_max_size=2**20)
        uvicorn.Server(config).run(sockets=[listening])


@contextlib.contextmanager
def running_server(frames: int, **settings: object) -> Iterator[Server]:
    """A server of one video of as many frames."""
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "videos").mkdir()
        write_video(Path(name) / "videos" / "a.mp4", frames)
        command = [sys.executable, "-m", "tests.faults.page_load", "serve", name, json.dumps(settings)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
            try:
                server = Server(process.pid, int(process.stdout.readline()), name)
                _wait_until_it_answers(server)
                server.videos.update({video["kind"]: video["id"] for video in server.get("/api/videos")})
                yield server
            finally:
                process.send_signal(signal.SIGINT)
                process.wait(PATIENCE)


def _wait_until_it_answers(server: Server) -> None:
    end = time.monotonic() + PATIENCE
    while True:
        try:
            server.get("/api/server")
            return
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)


def watch_together(server: Server, count: int, tracker: str) -> tuple[list[int], str, float]:
    """Frames that each of ``count`` viewers had when the first was done, what one more was told, and the seconds."""
    viewers = [server.viewer(tracker) for _ in range(count)]
    for viewer in viewers:
        viewer.first_frame()  # it waits there: nobody runs ahead while the others start
    extra = server.viewer(tracker)
    extra.first_frame()
    done, began = threading.Event(), time.monotonic()
    threads = [threading.Thread(target=viewer.watch, args=(done,)) for viewer in viewers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    seconds = time.monotonic() - began
    for viewer in [*viewers, extra]:
        viewer.socket.close()
    return [viewer.frames for viewer in viewers], (extra.ended or {}).get("message", "nothing"), seconds


def come_and_go(server: Server, count: int, tracker: str, every: int) -> list[Holding]:
    """What the server holds at regular numbers of visits; every twentieth is of a video file: it takes a decoder."""
    held = []
    with ThreadPoolExecutor(VISITORS) as pool:
        for first in range(1, count + 1, every):
            list(pool.map(lambda visit: come_once(server, visit, tracker), range(first, first + every)))
            held.append(server.settled())
            print(f"{first + every - 1} visits: {held[-1]}", flush=True)
    return held


def come_once(server: Server, visit: int, tracker: str) -> None:
    """Takes a frame and goes; waits for a place like a person who is told that the server is busy."""
    for _ in range(100):
        viewer = server.viewer(tracker, "folder" if visit % 20 == 1 else "demo")
        viewer.first_frame()
        viewer.cut() if visit % 2 else viewer.socket.close()
        if viewer.frames:
            return
        assert "busy" in viewer.ended.get("message", ""), viewer.ended
        time.sleep(0.2)
    raise AssertionError(f"visit {visit} found no place")


def send_damaged(server: Server, count: int, seed: int = 0) -> Counter:
    """How often uploads of damaged videos were answered with which status."""
    with tempfile.TemporaryDirectory() as name:
        good = write_video(Path(name) / "a.mp4", 30).read_bytes()
    answers: Counter = Counter()
    for place in range(count):
        answers[server.upload(damaged(good, seed + place))] += 1
    return answers


def damaged(data: bytes, seed: int) -> bytes:
    """A file with some bytes changed, cut off, or with sizes that are too large."""
    rng, changed = random.Random(seed), bytearray(data)
    for _ in range(rng.choice((1, 3, 20, 200))):
        changed[rng.randrange(len(changed))] = rng.randrange(256)
    if rng.random() < 0.3:
        del changed[1 + rng.randrange(len(changed) - 1) :]
    if rng.random() < 0.2:
        place = rng.randrange(len(changed))
        changed[place : place + 4] = rng.choice((b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", bytes(4)))
    return bytes(changed)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("viewers", "cycles", "files", "serve"))
    parser.add_argument("rest", nargs="*")
    parser.add_argument("--count", type=int, default=8)
    parser.add_argument("--tracker", default="identity/default")
    parser.add_argument("--frames", type=int, default=300)
    args = parser.parse_args()
    if args.what == "serve":
        serve(Path(args.rest[0]), json.loads(args.rest[1]))
        return 0
    with running_server(args.frames) as server:
        if args.what == "viewers":
            frames, told, seconds = watch_together(server, args.count, args.tracker)
            print(f"frames per viewer {frames} in {seconds:.1f} s; one more was told: {told}")
            return 0 if "busy" in told and min(frames) > 0.5 * max(frames) else 1
        before = Holding.of(server.pid)
        if args.what == "cycles":
            held = come_and_go(server, args.count, args.tracker, max(1, args.count // 10))
            grown = held[-1].resident_mib - held[0].resident_mib
            same = held[0].descriptors == held[-1].descriptors and held[-1].threads <= held[0].threads + POOL
            print(f"before: {before}\nfrom the first tenth to the last: {grown:+.1f} MiB")
            return 0 if same and grown < 20 else 1
        answers = send_damaged(server, args.count)
        print(f"answers by status: {dict(answers)}; before {before}, after {server.settled()}")
        return 0 if set(answers) <= {201, 415} and server.get("/api/server") else 1


if __name__ == "__main__":
    sys.exit(main())
