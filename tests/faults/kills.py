"""``kill -9`` at random moments, again and again, of what computes for long: nothing may be lost, wrong or left over.

    python -m tests.faults.kills run_tracker --count 30

A trial runs a command once undisturbed. Then it starts the command in another folder, kills it or one of its processes
at a random moment and starts it again, until as many kills are done. Whatever is complete by then must equal the
undisturbed run's, the last start must bring the rest, and no process or temporary file may be left.
"""
from __future__ import annotations

import argparse
import contextlib
import hashlib
import http.server
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).parents[2]
PATIENCE = 600.0  # seconds for a run on a busy machine
Results = dict[str, object]


@dataclass(frozen=True)
class Trial:
    """A command that goes on where it was killed; ``results`` reads what is complete in a folder."""

    command: Callable[[Path], list[str]]
    results: Callable[[Path], Results]
    prepare: Callable[[Path], None] = lambda folder: folder.mkdir(parents=True)
    grace: float = 60.0  # seconds in which the other processes must have ended after one was killed

    def start(self, folder: Path) -> subprocess.Popen:
        paths = {"PYTHONPATH": str(ROOT), "PYTRACKING_RESULTS_PATH": str(folder / "results"), "OMP_NUM_THREADS": "1"}
        with open(folder.with_suffix(".log"), "ab") as log:
            return subprocess.Popen(self.command(folder), env={**os.environ, **paths}, stdout=log, stderr=log,
                                    start_new_session=True)  # fmt: skip


def run(trial: Trial, folder: Path, count: int, choice: random.Random) -> dict[str, int]:
    """How often whom was killed, and how many times a run came to its end between two kills."""
    whole, killed = folder / "whole", folder / "killed"
    trial.prepare(whole)
    began = time.monotonic()
    if code := trial.start(whole).wait(PATIENCE):
        raise RuntimeError(f"the undisturbed run ended with {code}:\n{_end_of_log(whole)}")
    seconds = time.monotonic() - began
    expected = trial.results(whole)
    trial.prepare(killed)
    ends: Counter[str] = Counter()
    while ends["runner"] + ends["worker"] < count:
        process = trial.start(killed)
        family = _kill_one_of(process, choice.uniform(0.0, seconds), choice, ends)
        process.wait(PATIENCE)
        _expect_gone(family, trial.grace)
        found = trial.results(killed)
        wrong = [name for name in found if found[name] != expected.get(name)]
        if wrong:
            raise AssertionError(f"{wrong} are wrong after {dict(ends)}:\n{_end_of_log(killed)}")
        if found.keys() == expected.keys():
            ends["begun again"] += 1
            shutil.rmtree(killed)
            trial.prepare(killed)
        print(dict(ends), file=sys.stderr, flush=True)
    if code := trial.start(killed).wait(PATIENCE):
        raise AssertionError(f"the last run ended with {code}:\n{_end_of_log(killed)}")
    if trial.results(killed) != expected:
        raise AssertionError("the last run did not make up for what was killed")
    if left := [path.name for path in killed.rglob("*") if path.name.startswith(".") and path.is_file()]:
        raise AssertionError(f"left over: {left}")
    return dict(ends)


def _kill_one_of(process: subprocess.Popen, seconds: float, choice: random.Random, ends: Counter[str]) -> list[int]:
    """Kills the process or one of its descendants after this many seconds; returns all of them."""
    try:
        process.wait(seconds)
        return []  # it was faster
    except subprocess.TimeoutExpired:
        pass
    family = descendants(process.pid)
    # The runner half of the time, however many workers it has.
    victim = process.pid if not family or choice.random() < 0.5 else choice.choice(family)
    try:
        name = Path(f"/proc/{victim}/comm").read_text().strip()
        os.kill(victim, signal.SIGKILL)
    except (FileNotFoundError, ProcessLookupError):  # a worker that had just ended
        return family
    ends.update(["runner"] if victim == process.pid else ["worker", f"worker {name}"])
    return family


def descendants(process: int) -> list[int]:
    try:
        threads = list(Path(f"/proc/{process}/task").glob("*/children"))
        children = [int(word) for file in threads for word in file.read_text().split()]
    except OSError:
        return []
    return children + [one for child in children for one in descendants(child)]


def _expect_gone(processes: list[int], seconds: float) -> None:
    end = time.monotonic() + seconds
    while alive := [process for process in processes if _is_alive(process)]:
        if time.monotonic() > end:
            raise AssertionError(f"processes {alive} outlived their runner by {seconds:g} s")
        time.sleep(0.1)


def _is_alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except OSError:
        return False


def _end_of_log(folder: Path) -> str:
    return folder.with_suffix(".log").read_text(errors="replace")[-2000:]


# -------------------------------------------------------------------------------------------------------------- trials

TRACKER = "rls_dimp/default@dimp_mobile"
EXPERIMENT = f"""
import contextlib, sys
from pytracking.experiments.definition import Benchmark, Experiment
from pytracking.experiments.engines.ray_cluster import RayPool
from pytracking.experiments.report import write_report
from pytracking.experiments.running import run_experiment
from pytracking.experiments.selection import Selection, jobs_of

if __name__ == "__main__":
    trackers = {{"RLS-DiMP": "{TRACKER.replace('/', ':')}", "still": "identity:default"}}
    benchmark = Benchmark(dataset="folder:" + sys.argv[1], trackers=trackers, metrics=("success",), rule="strict")
    experiment = Experiment(name="killed", title="killed", runs=2, benchmarks=(benchmark,))
    jobs = jobs_of(experiment, Selection())
    with RayPool() if sys.argv[2] == "ray" else contextlib.nullcontext() as pool:
        run_experiment(experiment, jobs, workers=2, pool=pool, progress=False)
    write_report(experiment, jobs)
"""
DOWNLOAD = """
import sys
from pathlib import Path
from ltr.download import download
download(sys.argv[1], Path(sys.argv[2]), sha256=sys.argv[3])
"""


def _write_sequences(folder: Path, count: int) -> Path:
    from tests.evaluation.conftest import write_sequence

    for index in range(count):
        write_sequence(folder / "data", f"s{index}", 6 + index % 5, size=(96, 128), step=3)
    return folder / "data"


def _boxes(folder: Path) -> Results:
    """Result files of a run; times and memory differ from run to run."""
    files = [path for path in (folder / "results").rglob("*.txt") if not path.name.startswith(".")]
    kept = [path for path in files if "_time" not in path.name and path.parent.name != "memory"]
    return {str(path.relative_to(folder)): path.read_bytes() for path in kept}


def run_tracker(base: Path) -> Trial:
    """``run_tracker.py --threads 2``."""
    data = _write_sequences(base, 16)
    script = str(ROOT / "pytracking" / "run_tracker.py")
    dataset = ["--dataset_name", f"folder:{data}", "--threads", "2"]
    return Trial(lambda folder: [sys.executable, script, TRACKER, *dataset], _boxes)


def experiments(base: Path, engine: str = "local") -> Trial:
    """An experiment of two trackers and two runs with its report."""
    data = _write_sequences(base, 5)
    (base / "experiment.py").write_text(EXPERIMENT)

    def results(folder: Path) -> Results:
        found = _boxes(folder)
        for report in (folder / "results").rglob("report.md"):  # its last columns are speed and memory
            found["report"] = [line.rsplit("|", 3)[0] for line in report.read_text().splitlines()]
        return found

    return Trial(lambda folder: [sys.executable, str(base / "experiment.py"), str(data), engine], results)


def ray(base: Path) -> Trial:
    """The same on Ray, whose agents wait for a lost server for a minute before they end."""
    return replace(experiments(base, "ray"), grace=180.0)


def vot(base: Path) -> Trial:
    """``pytracking vot run --runner inprocess``; the toolkit writes in place, so that the end alone is compared."""
    from pytracking.vot_integration.trackers import TrackerSpec
    from pytracking.vot_integration.workspace import StackChanges, create_workspace
    from tests.vot import miniature

    sources = [miniature.source(base / "frames", number, 20) for number in range(3)]
    tracker, network = TRACKER.split("@")
    spec = TrackerSpec(*tracker.split("/"), network=network)
    arguments = ["--runner", "inprocess", "--workers", "2", "--experiments", "baseline", "unsupervised"]

    def prepare(folder: Path) -> None:
        create_workspace(folder, "vot2018/shortterm", [spec], sources, changes=StackChanges(2, (5, 12)))

    def results(folder: Path) -> Results:
        files = [path for path in (folder / "results").rglob("*") if path.is_file() and "_time" not in path.name]
        return {str(path.relative_to(folder)): path.read_bytes() for path in files}

    return Trial(lambda folder: [sys.executable, "-m", "pytracking", "vot", "run", str(folder), *arguments],
                 results, prepare)  # fmt: skip


def training(base: Path) -> Trial:
    """Training of a small network with a process that loads data; features are cached first."""
    import torch

    def results(folder: Path) -> Results:
        found: Results = {}
        if (path := folder / "rtmdnet_small.pth").exists():
            net = torch.load(path, weights_only=True)["net"]
            found["network"] = {name: tensor.numpy().tobytes() for name, tensor in net.items()}
            # An epoch that was interrupted has the means of its rest alone.
            found["log"] = [row.split(",")[0] for row in (folder / "log.csv").read_text().splitlines()]
        return found

    start = [sys.executable, "-m", "ltr.run_training", "mdnet", "rtmdnet_small", "--smoke", "--device", "cpu"]
    options = ["--threads", "1", "--workers", "1", "--epochs", "12"]
    return Trial(lambda folder: [*start, "--workspace", str(folder), *options], results)


def downloads(base: Path) -> Trial:
    """A network from a slow server that can go on in the middle of a file."""
    content = random.Random(1).randbytes(4 * 2**20)
    address = f"http://127.0.0.1:{_slow_server(content)}/network.pth"
    digest = hashlib.sha256(content).hexdigest()

    def command(folder: Path) -> list[str]:
        return [sys.executable, "-c", DOWNLOAD, address, str(folder / "network.pth"), digest]

    def results(folder: Path) -> Results:
        return {path.name: path.read_bytes() for path in folder.glob("network.pth")}

    return Trial(command, results)


def _slow_server(content: bytes) -> int:
    """The port of a server, in a thread, that sends 1 MiB per second."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:  # noqa: N802  (the name is http.server's)
            wanted = self.headers.get("Range")
            start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted else 0
            self.send_response(206 if wanted else 200)
            self.send_header("Content-Length", str(len(content) - start))
            self.end_headers()
            with contextlib.suppress(ConnectionError):  # the other side is killed all the time
                for place in range(start, len(content), 2**16):
                    self.wfile.write(content[place : place + 2**16])
                    time.sleep(1 / 16)

        def log_message(self, *_: object) -> None: ...

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_port


TRIALS: dict[str, Callable[[Path], Trial]] = {
    "run_tracker": run_tracker, "experiments": experiments, "ray": ray, "vot": vot, "training": training,
    "downloads": downloads,
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trial", choices=sorted(TRIALS))
    parser.add_argument("--count", type=int, default=20, help="kills")
    parser.add_argument("--seed", type=int, default=0, help="of the moments")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        trial = TRIALS[arguments.trial](Path(name))
        print(json.dumps(run(trial, Path(name), arguments.count, random.Random(arguments.seed))))


if __name__ == "__main__":
    main()
