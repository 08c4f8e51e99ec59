"""The long trials: ``python -m tests.faults.soak [part ...]``; without arguments all of them.

Each part prints its counts as one line of JSON and how long it took. docs/reliability.md has the last counts.
"""
from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PROGRAM = """
import sys
from pathlib import Path
from pytracking.evaluation.datasets.folder import load
from pytracking.evaluation.running import run_dataset
from tests.evaluation.trackers import RandomWalk, Spec

if __name__ == "__main__":
    RandomWalk.seconds = 0.02
    report = run_dataset(load(Path(sys.argv[1])), [Spec(RandomWalk)], threads=2, progress=False)
    print(report.summary())
"""


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
    """Random damage to result files, annotations, run.json and the settings file."""
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


def kills(count: int = 100) -> dict[str, Any]:
    """``kill -9`` at random moments, of the runner or of one of its workers, until every result is there."""
    from tests.evaluation.conftest import write_sequence

    choice = random.Random(0)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for index in range(30):
            write_sequence(folder / "data", f"s{index}", 10 + index % 7, step=1)
        (folder / "program.py").write_text(PROGRAM)

        def start(results: str) -> subprocess.Popen:
            paths = {"PYTHONPATH": str(ROOT), "PYTRACKING_RESULTS_PATH": str(folder / results)}
            command = [sys.executable, str(folder / "program.py"), str(folder / "data")]
            return subprocess.Popen(command, env={**os.environ, **paths}, stdout=subprocess.DEVNULL,
                                    stderr=subprocess.DEVNULL, start_new_session=True)

        if start("whole").wait() != 0:
            raise RuntimeError("the undisturbed run failed")
        expected = _results(folder / "whole")
        ends: Counter[str] = Counter()
        while sum(ends.values()) < count:
            process = start("killed")
            time.sleep(choice.uniform(0.5, 12.0))
            workers = _children(process.pid)
            victim = choice.choice([process.pid, *workers])
            try:
                os.kill(victim, signal.SIGKILL)
            except ProcessLookupError:
                continue
            ends["runner" if victim == process.pid else "worker"] += 1
            process.wait()
            for file, content in _results(folder / "killed").items():
                if content != expected[file]:
                    raise AssertionError(f"{file} is wrong after {dict(ends)}")
            if len(_results(folder / "killed")) == len(expected):
                shutil.rmtree(folder / "killed")  # begin again
        if start("killed").wait() != 0 or _results(folder / "killed") != expected:
            raise AssertionError("the last run did not make up for what was killed")
        return dict(ends)


def _results(folder: Path) -> dict[str, bytes]:
    files = [path for path in folder.rglob("*.txt") if not path.name.startswith(".")]
    return {path.name: path.read_bytes() for path in files if "_time" not in path.name and path.parent.name != "memory"}


def _children(process: int) -> list[int]:
    try:
        return [int(word) for word in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    except OSError:
        return []


def endurance(what: str, *arguments: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.faults.endurance", what, *arguments]
    paths = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=ROOT, env=paths, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    return json.loads(done.stdout.splitlines()[-1])


PARTS = {
    "corruptions": corruptions,
    "texts": texts,
    "kills": kills,
    "updates": lambda: endurance("updates"),
    "updates_dense": lambda: endurance("updates", "--dim", "600", "--budget-mib", "0", "--form", "dense"),
    "frames": lambda: endurance("frames"),
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
        print(part, json.dumps(PARTS[part]()), f"{time.monotonic() - start:.0f} s", flush=True)
    print(f"all: {(time.monotonic() - began) / 60:.0f} minutes")


if __name__ == "__main__":
    main()
