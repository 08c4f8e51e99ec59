"""RLS-RTMDNet beside simpleRT-MDNet in one run: a regular update, a frame, and memory.

    python benchmarks/rtmdnet_speed.py update            one regular update at rank 500, without bound of P's memory
    python benchmarks/rtmdnet_speed.py track             500 frames of both trackers, frame by frame in turn
    python benchmarks/rtmdnet_speed.py memory            both trackers in processes of their own: resident memory

Times are processor time of one thread, so that they mean something on a busy machine too.
"""
from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import nn
from tqdm import tqdm

from ltr.checkpoint import save_checkpoint
from ltr.models.tracking.mdnet import mdnet
from pytracking.parameter.rls_rtmdnet import default
from pytracking.parameter.rtmdnet import simple
from pytracking.tracker.rls_rtmdnet.rls_learner import RlsHeadLearner
from pytracking.tracker.rls_rtmdnet.rls_rtmdnet import RlsRtmdnetTracker
from pytracking.tracker.rtmdnet.head import ClassifierHead
from pytracking.tracker.rtmdnet.memory import SampleSet
from pytracking.tracker.rtmdnet.head_learner import HeadLearner
from pytracking.tracker.rtmdnet.rtmdnet import RtmdnetTracker

FEATURES, WIDTH = 4608, 512  # of the published network
MIB = 2**20


def thread_seconds(action: Callable[[], object]) -> float:
    started = time.thread_time()
    action()
    return time.thread_time() - started


def teach(learner: RlsHeadLearner, rank: int) -> None:
    """Brings every P to a rank with random inputs around a common mean, as virtual inputs are."""
    generator = torch.Generator().manual_seed(1)
    for memory in learner._improved.memories:
        mean = torch.rand(memory.inverse.dim, generator=generator)
        while memory.inverse.steps * 25 < rank:
            memory.inverse.update(mean + 0.1 * torch.randn(25, memory.inverse.dim, generator=generator))


def make_learners(rank: int) -> dict[str, HeadLearner]:
    learners = {}
    for name, kind, module in (("simpleRT-MDNet", HeadLearner, simple), ("RLS-RTMDNet", RlsHeadLearner, default)):
        torch.manual_seed(0)
        layers = [nn.Linear(FEATURES, WIDTH), nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, 2)]
        head = ClassifierHead(layers, 0.5, torch.Generator().manual_seed(0))
        params = module.parameters()
        if kind is RlsHeadLearner:
            params.memory_budget = None  # the bound would keep P below the rank asked for
        learners[name] = kind(head, params, np.random.default_rng(0))
    teach(learners["RLS-RTMDNet"], rank)
    return learners


def benchmark_update(rank: int, repeats: int) -> None:
    learners = make_learners(rank)
    generator = torch.Generator().manual_seed(0)
    positives = SampleSet.whole(torch.relu(torch.randn(1000, FEATURES, generator=generator) + 0.3))
    negatives = SampleSet.whole(torch.relu(torch.randn(4000, FEATURES, generator=generator)))
    seconds: dict[str, list[float]] = {name: [] for name in learners}
    for _ in tqdm(range(repeats), desc="regular updates"):
        for name, learner in learners.items():
            seconds[name].append(thread_seconds(lambda each=learner: each.update_regularly(positives, negatives)))
    best = {name: min(values) for name, values in seconds.items()}
    print(f"one regular update, 15 iterations, {FEATURES} features, rank {rank} at the start, best of {repeats}")
    for name, value in best.items():
        print(f"  {name:15s} {1000 * value:8.0f} ms   P and its products {learners[name].nbytes / MIB:5.1f} MiB")
    print(f"  ratio {best['RLS-RTMDNet'] / best['simpleRT-MDNet']:.3f}")


def moving_target(count: int) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    background = np.kron(rng.integers(0, 200, (24, 32, 3)), np.ones((10, 10, 1)))
    target = np.kron(rng.integers(60, 255, (6, 5, 3)), np.ones((8, 8, 1)))
    frames = []
    for number in range(count):
        x, y = 130 + int(40 * np.sin(number / 30)), 90 + int(20 * np.cos(number / 20))
        frame = background + rng.normal(0, 5, background.shape)
        frame[y : y + 48, x : x + 40] = target
        frames.append(np.clip(frame, 0, 255).astype(np.uint8))
    return frames


def make_trackers(folder: Path, spec: str) -> dict[str, RtmdnetTracker]:
    torch.manual_seed(0)
    constructor = {"function": "ltr.models.tracking.mdnet.mdnet", "kwargs": {"spec": spec}}
    save_checkpoint(folder / "random.pth", mdnet(spec=spec).state_dict(), constructor, {})
    trackers = {}
    for name, kind, module in (("simpleRT-MDNet", RtmdnetTracker, simple), ("RLS-RTMDNet", RlsRtmdnetTracker, default)):
        params = module.parameters()
        params.network_file, params.device = folder / "random.pth", "cpu"
        params.success_threshold = -float("inf")  # random weights: every frame counts as found, all updates are regular
        trackers[name] = kind(params)
    return trackers


def benchmark_track(spec: str, frames: int, rank: int) -> None:
    images = moving_target(frames + 1)
    with tempfile.TemporaryDirectory() as folder:
        trackers = make_trackers(Path(folder), spec)
    for tracker in trackers.values():
        tracker.initialize(images[0], {"init_bbox": [130, 110, 40, 48], "seed": 0})
    if rank:
        teach(trackers["RLS-RTMDNet"].learner, rank)
    seconds = {name: 0.0 for name in trackers}
    for image in tqdm(images[1:], desc="frames"):
        for name, tracker in trackers.items():
            seconds[name] += thread_seconds(lambda each=tracker, shown=image: each.track(shown))
    print(f"{frames} frames, {spec} network with random weights, P taught up to rank {rank} beforehand")
    for name, total in seconds.items():
        learner = trackers[name].learner
        state = f"rank {learner.rank}, P and its products {learner.nbytes / MIB:.1f} MiB"
        print(f"  {name:15s} {1000 * total / frames:7.1f} ms a frame   {state}")
    print(f"  ratio {seconds['RLS-RTMDNet'] / seconds['simpleRT-MDNet']:.3f}")


def resident_mib() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / MIB


def run_for_memory(name: str, spec: str, frames: int, rank: int) -> None:
    """One tracker's part of ``memory``: prints the largest resident memory after a frame, and what P accounts for."""
    images = moving_target(frames + 1)
    with tempfile.TemporaryDirectory() as folder:
        tracker = make_trackers(Path(folder), spec)[name]
    tracker.initialize(images[0], {"init_bbox": [130, 110, 40, 48], "seed": 0})
    if rank and name == "RLS-RTMDNet":
        teach(tracker.learner, rank)
    largest, accounted = 0.0, 0.0
    for image in images[1:]:
        tracker.track(image)
        largest, accounted = max(largest, resident_mib()), max(accounted, tracker.learner.nbytes / MIB)
    print(f"{largest} {accounted}")


def benchmark_memory(spec: str, frames: int, rank: int) -> None:
    resident = {}
    print(f"{frames} frames, {spec} network with random weights, P taught up to rank {rank} beforehand")
    for name in ("simpleRT-MDNet", "RLS-RTMDNet"):
        command = [sys.executable, __file__, "memory", "--of", name, "--spec", spec, "--frames", str(frames)]
        environment = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}
        output = subprocess.run([*command, "--rank", str(rank)], check=True, capture_output=True, env=environment)
        resident[name], accounted = (float(number) for number in output.stdout.split()[-2:])
        print(f"  {name:15s} {resident[name]:7.1f} MiB resident   P and its products {accounted:5.1f} MiB")
    print(f"  difference {resident['RLS-RTMDNet'] - resident['simpleRT-MDNet']:.1f} MiB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("update", "track", "memory"))
    parser.add_argument("--rank", type=int, help="rank of P to start from (update: 500; track: after initial learning)")
    parser.add_argument("--repeats", type=int, default=5, help="updates of each learner")
    parser.add_argument("--frames", type=int, default=500)
    parser.add_argument("--spec", default="vggm", help="convolutions: vggm (published) or alexnet (bundled network)")
    parser.add_argument("--of", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    if arguments.what == "update":
        benchmark_update(500 if arguments.rank is None else arguments.rank, arguments.repeats)
    elif arguments.what == "memory" and arguments.of:
        run_for_memory(arguments.of, arguments.spec, arguments.frames, arguments.rank or 0)
    elif arguments.what == "memory":
        benchmark_memory(arguments.spec, arguments.frames, arguments.rank or 0)
    else:
        benchmark_track(arguments.spec, arguments.frames, arguments.rank or 0)


if __name__ == "__main__":
    main()
