"""Time per frame by tracker and engine, compared with NanoTrack, CSRT and an older checkout in one run.

    python benchmarks/frame.py --network-path PEERS [--before CHECKOUT] [--busy 2] [--frames 60] [--rounds 3]
    python benchmarks/frame.py --network-path PEERS --whole Car1 Deer [--folder OTB]
    python benchmarks/frame.py --equality

Each row is measured in separate processes, in rounds that alternate between the rows, so that other load affects all
rows alike; a row's best round counts. The floor is the time of the networks' convolutions in the same frames. Learning
that overlaps with a frame counts only as long as the frame waits for it.
``--whole`` runs whole sequences (of the demo, or of ``--folder``) as run_tracker does, including their first frames.
``--before`` adds rows of another checkout of this project, measured in the same run. ``--busy N`` runs N spinning
processes at the same time and adds rows with fixed numbers of threads; the default should reach 0.8 of the best of
them. ``--equality`` compares the boxes of both engines for DiMP-50 over 100 frames. DiMP-50 has random weights, which
do not change the cost. pytracking's row was recorded once, on two cores. ``--cpu-clock`` measures processor time with
one thread, which is the number to compare on a busy machine.
"""
from __future__ import annotations

import argparse
import contextlib
import copy
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PYTRACKING = ROOT / "tests" / "golden" / "data" / "bench" / "tracker_fps.json"
FOUND = {"target_not_found_threshold": -1e9, "distractor_threshold": 1e9, "hard_negative_threshold": 1e9}
# Runs in any checkout of this project, so it uses only names that all have, and times the parts that it finds.
CHILD = r"""
import json, sys, time, warnings
warnings.simplefilter("ignore")
name, parameter, network, overrides, clock, frames = json.loads(sys.argv[1])
clock = getattr(time, clock)
from pytracking.evaluation import get_dataset
from pytracking.evaluation.tracker import Tracker
tracker = Tracker(name, parameter, network=network).create_tracker(overrides)
if hasattr(tracker, "torch_threads"):  # as the loops of run_tracker and run_video do: learning may overlap with a frame
    import torch
    torch.set_num_threads(tracker.torch_threads)
sequence = get_dataset("demo")["beetle"]
images = [sequence.load_frame(index) for index in range(frames)]
parts, running = {}, []
def watch(owner, attribute, label):
    function = getattr(owner, attribute, None)
    if function is None:
        return
    def timed(*args, **options):
        start = clock()
        running.append(0.0)
        try:
            return function(*args, **options)
        finally:
            spent = clock() - start
            parts[label] = parts.get(label, 0.0) + spent - running.pop()
            if running:
                running[-1] += spent
    setattr(owner, attribute, timed)
init = {"init_bbox": sequence.ground_truth_rect[0].tolist(), "seed": 0}
first = []
for _ in range(2):
    start = clock()
    tracker.initialize(images[0], init)
    first.append(clock() - start)
if hasattr(tracker, "network") and hasattr(tracker.network, "backbone_features"):
    watch(tracker.network, "backbone_features", "network")
    watch(tracker.network, "classification_features", "network")
    labels = {"_cut_patch": "crop", "cut_patch": "crop", "_refine": "boxes", "_learn": "learn", "settle": "learn"}
    for attribute, label in labels.items():
        watch(tracker, attribute, label)
    if hasattr(getattr(tracker, "target_iou", None), "head"):
        watch(tracker.target_iou.head, "maps", "box convs")
start = clock()
for image in images[1:]:
    tracker.track(image)
if hasattr(tracker, "settle"):
    tracker.settle()
seconds = (clock() - start) / (frames - 1)
parts = {label: spent / (frames - 1) for label, spent in parts.items()}
print(json.dumps({"first": min(first), "frame": seconds, "parts": parts}))
"""
WHOLE_CHILD = r"""
import json, sys, time, warnings
warnings.simplefilter("ignore")
name, parameter, network, overrides, folder, names = json.loads(sys.argv[1])
from pytracking.evaluation import get_dataset
from pytracking.evaluation.tracker import Tracker
spec = Tracker(name, parameter, network=network)
tracker = spec.create_tracker(overrides)
frames = inside = wall = first = 0
for each in names:
    sequence = get_dataset(f"folder:{folder}" if folder else "demo")[each]
    start = time.perf_counter()
    output = spec.run_sequence(sequence, tracker=tracker)
    wall += time.perf_counter() - start
    inside += float(output.times.sum())
    first = max(first, float(output.times[0]))
    frames += len(output.times)
print(json.dumps({"frames": frames, "frame": inside / frames, "wall": wall / frames, "first": first, "parts": {}}))
"""
PARTS = ("network", "box convs", "boxes", "learn", "crop")
FLOOR = ("network", "box convs")
RECORDED = {"network": ("backbone(+crop)", "clf_feat"), "boxes": ("iounet_refine",), "learn": ("update",)}


class Row:
    """One line of the table: a tracker with its settings in one checkout."""

    def __init__(self, label: str, tracker: str, network: str | None = None, overrides: dict | None = None) -> None:
        self.label = label
        self.name, self.parameter = tracker.split("/")
        self.network, self.overrides = network, overrides or {}
        self.checkout, self.threads = ROOT, None
        self.best: dict | None = None

    def variant(self, label: str, *, checkout: Path = ROOT, threads: int | None = None, **overrides) -> Row:
        """The same tracker in another checkout or with other settings."""
        row = copy.copy(self)
        row.label, row.checkout, row.threads = f"{self.label}, {label}", checkout, threads
        row.overrides = {**self.overrides, **overrides}
        return row

    def measure(self, args: argparse.Namespace) -> None:
        """One round; the best one is kept."""
        environment = {**os.environ, "PYTHONPATH": str(self.checkout)}
        if self.threads or args.cpu_clock:
            environment["OMP_NUM_THREADS"] = str(self.threads or 1)
        request = [self.name, self.parameter, self.network, self.overrides]
        clock = "process_time" if args.cpu_clock else "perf_counter"
        request += [str(args.folder or ""), args.whole] if args.whole else [clock, args.frames]
        command = [sys.executable, "-c", WHOLE_CHILD if args.whole else CHILD, json.dumps(request)]
        done = subprocess.run(command, env=environment, cwd=self.checkout, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"error: {self.label}: {done.stderr.strip().splitlines()[-1]}")
        result = json.loads(done.stdout.splitlines()[-1])
        if self.best is None or result["frame"] < self.best["frame"]:
            self.best = result


def rows(args: argparse.Namespace, dimp50: str) -> list[Row]:
    mobile = Row("rls_dimp, bundled network", "rls_dimp/default", "dimp_mobile")
    large = Row("dimp, DiMP-50", "dimp/dimp50", dimp50, {"train_skipping": 4, **FOUND})
    rtmdnet = Row("rtmdnet, bundled network", "rtmdnet/rtmdnet", "rtmdnet_small")
    chosen = []
    for row in (mobile, large, rtmdnet):
        if row.name not in args.trackers:
            continue
        chosen.append(row)
        if row is not rtmdnet:
            chosen.append(row.variant("torch engine", engine="torch"))
        if args.before:
            chosen.append(row.variant("before", checkout=args.before.resolve()))
        if args.busy:
            chosen += [row.variant(f"{count} thread(s)", threads=count) for count in (1, os.cpu_count() or 1)]
    if "opencv" in args.trackers:
        chosen.append(Row("CSRT (OpenCV)", "opencv/csrt"))
        if args.network_path:
            chosen.append(Row("NanoTrack v2 (OpenCV)", "opencv/nano"))
    return chosen


@contextlib.contextmanager
def busy(count: int) -> Iterator[None]:
    spin = "import os; parent = os.getppid()\nwhile os.getppid() == parent: pass"  # ends with this process
    spinners = [subprocess.Popen([sys.executable, "-c", spin]) for _ in range(count)]
    try:
        yield
    finally:
        for process in spinners:
            process.kill()
            process.wait()


def recorded_pytracking() -> Row:
    """The recorded measurement of pytracking's DiMP-50 with pooling on the CPU."""
    threads = min(os.cpu_count() or 1, 2)
    times = json.loads(PYTRACKING.read_text())["results"][f"new_dimp50_threads{threads}"]
    times = times["best_run_parts_mean_s_per_frame"]
    row = Row("pytracking, DiMP-50, recorded", "pytracking/dimp50")
    parts = {part: sum(times[name] for name in names) for part, names in RECORDED.items()}
    row.best = {"first": float("nan"), "frame": sum(times.values()), "parts": parts}
    return row


def report(table: list[Row]) -> None:
    titles = "".join(f"{title:>10}" for title in ("first ms", "frame ms", "fps", "wall fps", *PARTS, "rest", "floor"))
    print(f"{'tracker':<42}{titles}")
    for row in table:
        best, parts = row.best, row.best["parts"]
        cells = "".join(f"{1e3 * parts[part]:10.2f}" if part in parts else " " * 10 for part in PARTS)
        rest = f"{1e3 * (best['frame'] - sum(parts.values())):10.2f}" if parts else ""
        floor = f"{1e3 * sum(parts[part] for part in FLOOR):10.2f}" if all(part in parts for part in FLOOR) else ""
        wall = f"{1 / best['wall']:10.1f}" if "wall" in best else " " * 10
        numbers = f"{1e3 * best['first']:10.0f}{1e3 * best['frame']:10.2f}{1 / best['frame']:10.1f}"
        print(f"{row.label:<42}{numbers}{wall}{cells}{rest}{floor}")
    nano = next((row for row in table if row.parameter == "nano"), None)
    theirs = next((row for row in table if row.name == "pytracking"), None)
    for row in table:
        others = [other for other in table if other.label.startswith(f"{row.label}, ")]
        if not others:
            continue
        compared = others + ([nano] if nano else [])
        compared += [theirs] if theirs and "DiMP-50" in row.label else []
        for other in compared:
            print(f"{row.label}: {other.best['frame'] / row.best['frame']:.2f} times the speed of '{other.label}'")


def random_dimp50(folder: str) -> str:
    """Saves a checkpoint with random weights; its last layer is small, so that boxes move by a few pixels."""
    import torch

    from ltr.checkpoint import save_checkpoint
    from ltr.models.tracking.dimpnet import dimpnet50

    torch.manual_seed(0)
    network = dimpnet50(filter_size=4, clf_feat_blocks=0)
    network.bb_regressor.iou_predictor.weight.data.mul_(1e-2)
    constructor = {
        "function": "ltr.models.tracking.dimpnet.dimpnet50", "kwargs": {"filter_size": 4, "clf_feat_blocks": 0}
    }  # fmt: skip
    save_checkpoint(Path(folder) / "dimp50_random.pth", network.state_dict(), constructor)
    return str(Path(folder) / "dimp50_random.pth")


def compare_engines(network: str, frames: int) -> None:
    import numpy as np

    from pytracking.evaluation import get_dataset
    from pytracking.evaluation.tracker import Tracker

    sequence = get_dataset("demo")["fish"]
    boxes = []
    for engine in ("torch", "onnxruntime"):
        tracker = Tracker("dimp", "dimp50", network=network).create_tracker({"engine": engine, **FOUND})
        tracker.initialize(sequence.load_frame(0), {"init_bbox": sequence.ground_truth_rect[0].tolist(), "seed": 0})
        boxes.append([tracker.track(sequence.load_frame(index))["target_bbox"] for index in range(1, frames)])
    difference = np.abs(np.subtract(*boxes)).max()
    print(f"DiMP-50, {frames} frames: the engines' boxes differ by at most {difference:.4f} px")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--network-path", type=Path, help="folder with NanoTrack's ONNX files")
    parser.add_argument("--before", type=Path, help="another checkout of this project")
    parser.add_argument("--busy", type=int, default=0, metavar="N", help="spinning processes to run at the same time")
    parser.add_argument("--frames", type=int, default=60)
    parser.add_argument("--whole", nargs="+", metavar="SEQUENCE", help="whole sequences instead of a few frames")
    parser.add_argument("--folder", type=Path, help="folder of these sequences (default: the demo dataset)")
    parser.add_argument("--cpu-clock", action="store_true", help="processor time with one thread, for busy machines")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--trackers", nargs="+", default=["rls_dimp", "dimp", "rtmdnet", "opencv"])
    parser.add_argument("--equality", action="store_true", help="compare the engines' boxes instead")
    args = parser.parse_args()
    args.folder = args.folder and args.folder.resolve()
    if args.network_path:
        os.environ["PYTRACKING_NETWORK_PATH"] = str(args.network_path.resolve())
    with tempfile.TemporaryDirectory() as folder:
        dimp50 = random_dimp50(folder) if args.equality or "dimp" in args.trackers else ""
        if args.equality:
            compare_engines(dimp50, 100)
            return
        table = rows(args, dimp50)
        with busy(args.busy):
            for _ in range(args.rounds):
                for row in table:
                    row.measure(args)
        report(table + ([recorded_pytracking()] if dimp50 else []))


if __name__ == "__main__":
    main()
