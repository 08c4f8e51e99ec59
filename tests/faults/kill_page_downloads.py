"""``kill -9`` of who downloads a tracked video from the page, or of the process that decodes for it.

    python -m tests.faults.kill_page_downloads --count 20

The next download must be whole again, and the server may keep nothing of the killed one: no file, no process.
"""
from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from pathlib import Path

from tests.faults.kills import descendants
from tests.faults.page_load import PATIENCE, Server, running_server

CLIENT = "import sys, urllib.request; sys.stdout.buffer.write(urllib.request.urlopen(sys.argv[1]).read())"


def kill_downloads(count: int, choice: random.Random) -> dict[str, int]:
    """How often whom was killed."""
    ends: Counter[str] = Counter()
    with running_server(frames=120, trackers=["identity/default"], demo=False) as server:
        viewer = server.viewer("identity/default")
        viewer.first_frame()
        viewer.watch(threading.Event())
        viewer.socket.close()
        address = f"http://127.0.0.1:{server.port}/api/runs/{viewer.run}/video"
        began = time.monotonic()
        whole = len(_download(address))
        seconds, kept = time.monotonic() - began, _kept(server)
        while ends["client"] + ends["decoder"] < count:
            idle = set(descendants(server.pid))
            with subprocess.Popen([sys.executable, "-c", CLIENT, address], stdout=subprocess.DEVNULL) as client:
                time.sleep(choice.uniform(0.0, seconds + 0.2))
                working = sorted(set(descendants(server.pid)) - idle)
                victim = choice.choice([client.pid, *working])
                ends["client" if victim == client.pid else "decoder"] += 1
                try:
                    os.kill(victim, signal.SIGKILL)
                except ProcessLookupError:  # a decoder that had just ended
                    ends["decoder"] -= 1
            _expect_nothing_left(server, kept)
            if len(_download(address)) != whole:
                raise AssertionError(f"the download after {dict(ends)} is not whole")
            print(dict(ends), file=sys.stderr, flush=True)
    return dict(ends)


def _download(address: str) -> bytes:
    for _ in range(100):  # the server writes two videos at a time, and a killed one may not be done yet
        try:
            with urllib.request.urlopen(address, timeout=PATIENCE) as answer:
                return answer.read()
        except urllib.error.HTTPError as error:
            if error.code != 503:
                raise
            time.sleep(0.2)
    raise AssertionError("the server stays busy")


def _kept(server: Server) -> set[str]:
    folder = Path(server.folder) / "uploads"
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*")}


def _expect_nothing_left(server: Server, kept: set[str]) -> None:
    end = time.monotonic() + 60
    while left := _kept(server) - kept:
        if time.monotonic() > end:
            raise AssertionError(f"left over: {left}")
        time.sleep(0.1)
    if (children := server.settled().children) > 2:  # two are kept for previews
        raise AssertionError(f"{children} processes are left")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=20, help="kills")
    print(json.dumps(kill_downloads(parser.parse_args().count, random.Random(0))))


if __name__ == "__main__":
    main()
