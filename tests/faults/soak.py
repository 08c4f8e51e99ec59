"""The long trials: ``python -m tests.faults.soak [part ...]``; without arguments all of them.

Each part prints its counts as one line of JSON and how long it took. docs/reliability.md has the last counts.
"""
from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
MOST_GROWTH, MOST_SLOWER = 10.0, 1.1  # MiB of a process's whole life; its time for a step, to a young one's
KILLS = {"run_tracker": 30, "experiments": 15, "ray": 10, "vot": 15, "training": 15, "downloads": 15}  # 100 in all


def corruptions(count: int = 1000) -> dict[str, Any]:
    """Random damage to each bundled network."""
    from ltr.checkpoint import load_network
    from ltr.weights import bundled_networks
    from tests.faults.test_checkpoint_files import damage_report

    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for path in bundled_networks():
            load_network(path)
            ends, seconds, memory = damage_report(path, range(count), Path(folder))
            found[path.stem] = {**ends, "slowest_s": round(seconds, 3), "most_memory_of_file": round(memory, 2)}
    return found


def texts(count: int = 1000) -> dict[str, Any]:
    """Random damage to result files, annotations, run.json, the settings file and an exported graph."""
    from tests.faults.corruption import corrupted
    from tests.faults.test_damaged_texts import READERS, check

    found = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "damaged.txt"
        for kind, (reader, content) in READERS.items():
            ends: Counter[str] = Counter()
            for seed in range(count):
                path.write_bytes(corrupted(content, seed))
                ends["read" if check(reader, path) else "named error"] += 1
            found[kind] = dict(ends)
    return found


def kills(trial: str, count: int) -> dict[str, Any]:
    """``kill -9`` at random moments of one kind of work and its processes."""
    from tests.faults.kills import TRIALS, run

    with tempfile.TemporaryDirectory() as folder:
        return run(TRIALS[trial](Path(folder)), Path(folder), count, random.Random(0))


def page(what: str, count: int) -> dict[str, Any]:
    """The page under load; its output ends with the counts."""
    command = [sys.executable, "-m", "tests.faults.page_load", what, "--count", str(count)]
    paths = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=ROOT, env=paths, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError((done.stdout + done.stderr)[-2000:])
    return {"said": done.stdout.splitlines()[-1]}


def page_downloads(count: int) -> dict[str, Any]:
    """``kill -9`` of who downloads a video from the page, and of the process that decodes for it."""
    from tests.faults.kill_page_downloads import kill_downloads

    return kill_downloads(count, random.Random(0))


def endurance(what: str, *arguments: str) -> dict[str, Any]:
    """100,000 steps of one process: memory, time and P as at its beginning."""
    command = [sys.executable, "-m", "tests.faults.endurance", what, *arguments]
    paths = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=ROOT, env=paths, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    found = json.loads(done.stdout.splitlines()[-1])
    flat = found["growth_mib"] < MOST_GROWTH and found["old_to_young"] < MOST_SLOWER
    if not (flat and found["always_positive_definite"]):
        raise AssertionError(found)
    return found


PARTS = {
    "corruptions": corruptions,
    "texts": texts,
    **{f"kills_{trial}": partial(kills, trial, count) for trial, count in KILLS.items()},
    "updates": lambda: endurance("updates"),
    "updates_dense": lambda: endurance("updates", "--dim", "600", "--budget-mib", "0", "--form", "dense"),
    "frames": lambda: endurance("frames"),
    "kills_page": lambda: page_downloads(20),
    "page_viewers": lambda: page("viewers", 8),
    "page_cycles": lambda: page("cycles", 1000),
    "page_files": lambda: page("files", 300),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", help=f"of {', '.join(PARTS)}; all by default")
    parts = parser.parse_args().parts or list(PARTS)
    if unknown := set(parts) - set(PARTS):
        parser.error(f"there is no part {', '.join(unknown)}")
    began = time.monotonic()
    for part in parts:
        start = time.monotonic()
        with contextlib.redirect_stdout(sys.stderr):  # what libraries print
            found = PARTS[part]()
        print(part, json.dumps(found), f"{time.monotonic() - start:.0f} s", flush=True)
    print(f"all: {(time.monotonic() - began) / 60:.0f} minutes")


if __name__ == "__main__":
    main()
