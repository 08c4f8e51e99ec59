"""RLS-RTMDNet and simpleRT-MDNet in one run: time of frames and regular updates, and memory of the first frame.

    python benchmarks/rtmdnet_speed.py track       frames and their updates: 500 frames, then those from frame 1000 on
    python benchmarks/rtmdnet_speed.py update      regular updates of both learners in turn, at several ranks of P
    python benchmarks/rtmdnet_speed.py memory      peak resident memory of the first frame

Times are processor time of one thread, measured alternately, so that ratios are meaningful on a busy machine too.
"""
from __future__ import annotations

import argparse
import os
import resource
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import nn
from tqdm import tqdm

from ltr.checkpoint import save_checkpoint
from ltr.models.tracking.mdnet import mdnet
from pytracking.parameter.rls_rtmdnet import default
from pytracking.parameter.rtmdnet import simple
from pytracking.tracker.rls_rtmdnet.rls_learner import RLSHeadLearner
from pytracking.tracker.rls_rtmdnet.rls_rtmdnet import RLSRtmdnetTracker
from pytracking.tracker.rtmdnet.frame_memory import FrameMemory, SampleSet
from pytracking.tracker.rtmdnet.head import ClassifierHead
from pytracking.tracker.rtmdnet.head_learner import HeadLearner, LearningReport
from pytracking.tracker.rtmdnet.rtmdnet import RtmdnetTracker
from rls_ext import virtual_input_linear

FEATURES, WIDTH = 4608, 512  # of the published network
SIMPLE, RLS = "simpleRT-MDNet", "RLS-RTMDNet"
BOX = [130.0, 110.0, 40.0, 48.0]
MIB = 2**20


def thread_seconds(action: Callable[[], object]) -> float:
    started = time.thread_time()
    action()
    return time.thread_time() - started


def teach(learner: RLSHeadLearner, rank: int) -> None:
    """Raises every P to a rank with random inputs around a common mean, similar to virtual inputs."""
    generator = torch.Generator().manual_seed(1)
    for inverse in learner.inverses:
        mean = torch.rand(inverse.dim, generator=generator)
        while inverse.rank < min(rank, inverse.dim):
            count = min(25, rank - inverse.rank)
            inverse.update(mean + 0.1 * torch.randn(count, inverse.dim, generator=generator))


def make_learners() -> dict[str, HeadLearner]:
    learners = {}
    for name, kind, module in ((SIMPLE, HeadLearner, simple), (RLS, RLSHeadLearner, default)):
        torch.manual_seed(0)
        layers = [nn.Linear(FEATURES, WIDTH), nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, 2)]
        head = ClassifierHead(layers, 0.5, torch.Generator().manual_seed(0))
        learners[name] = kind(head, module.parameters(), np.random.default_rng(0))
    return learners


def new_frames(memories: list[FrameMemory], generator: torch.Generator) -> list[SampleSet]:
    """Samples of twenty frames, ten of them new, as in a regular update."""
    for memory, mean in zip(memories, (0.3, 0.0), strict=True):
        for _ in range(10 if len(memory) else 20):
            memory.add(torch.relu(torch.randn(memory.samples, FEATURES, generator=generator) + mean))
    return [memory.last() for memory in memories]


def benchmark_update(ranks: list[int], repeats: int) -> None:
    learners = make_learners()
    generator = torch.Generator().manual_seed(0)
    memories = [FrameMemory(20, 50), FrameMemory(20, 200)]
    print(f"regular updates, {FEATURES} features, best of {repeats} from about the same rank of fc4's P")
    print(f"{'rank':>6}{SIMPLE:>17}{RLS:>14}{'ratio':>8}{'P':>12}")
    for rank in ranks:
        teach(learners[RLS], rank)
        best = {name: float("inf") for name in learners}
        for _ in range(repeats):
            samples = new_frames(memories, generator)
            for name, learner in learners.items():
                taken = thread_seconds(partial(learner.update_regularly, *samples))
                best[name] = min(best[name], taken)
        size = learners[RLS].report()["nbytes"] / MIB
        print(f"{rank:6}{1000 * best[SIMPLE]:14.0f} ms{1000 * best[RLS]:11.0f} ms{best[RLS] / best[SIMPLE]:8.2f}"
              f"{size:8.1f} MiB", flush=True)


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


def make_tracker(kind: type[RtmdnetTracker], spec: str) -> RtmdnetTracker:
    torch.manual_seed(0)
    constructor = {"function": "ltr.models.tracking.mdnet.mdnet", "kwargs": {"spec": spec}}
    params = (default if kind is RLSRtmdnetTracker else simple).parameters()
    params.device = "cpu"
    params.success_threshold = -float("inf")  # the target always counts as found, so all updates are regular
    with tempfile.TemporaryDirectory() as folder:
        params.network_file = Path(folder) / "random.pth"
        save_checkpoint(params.network_file, mdnet(spec=spec).state_dict(), constructor, {})
        return kind(params)


class TimedTracker:
    """Records the processor time of a tracker's frames and regular updates."""

    def __init__(self, tracker: RtmdnetTracker, first: np.ndarray) -> None:
        self.tracker = tracker
        tracker.initialize(first, {"init_bbox": BOX, "seed": 0})
        self.frames: list[float] = []
        self.updates: list[float] = []
        update = tracker.learner.update_regularly

        def timed(*samples: SampleSet) -> LearningReport:
            started = time.thread_time()
            try:
                return update(*samples)
            finally:
                self.updates.append(time.thread_time() - started)

        tracker.learner.update_regularly = timed

    def track(self, image: np.ndarray) -> None:
        self.frames.append(thread_seconds(lambda: self.tracker.track(image)))


def track_in_turns(trackers: dict[str, TimedTracker], images: list[np.ndarray]) -> None:
    """Alternates between trackers frame by frame, so that other load slows all of them alike."""
    for image in images:
        for tracker in trackers.values():
            tracker.track(image)


def print_ratios(what: str, trackers: dict[str, TimedTracker]) -> None:
    report = trackers[RLS].tracker.learner.report()
    print(f"\n{what}: rank {report['rank']}, P {report['nbytes'] / MIB:.1f} MiB")
    for name in ("frames", "updates"):
        simple_mean, rls_mean = (1000 * np.mean(getattr(trackers[each], name)) for each in (SIMPLE, RLS))
        ratio = rls_mean / simple_mean
        print(f"  {name:<8}{simple_mean:8.1f} and {rls_mean:8.1f} ms, ratio {ratio:.3f}", flush=True)
    for tracker in trackers.values():
        tracker.frames.clear()
        tracker.updates.clear()


def remember_more(tracker: RtmdnetTracker, count: int) -> None:
    """Updates P without learning: with means of stored mini-batches for fc4, and random inputs for fc5 and fc6."""
    first, *others = tracker.learner.inverses
    generator, params = torch.Generator().manual_seed(first.steps), tracker.params
    positives, negatives = tracker.positives.last(), tracker.negatives.last()
    for _ in range(count):
        rows = [
            samples.take(torch.randint(len(samples), (size,), generator=generator))
            for samples, size in ((positives, params.batch_positives), (negatives, params.batch_negatives))
        ]
        first.update(virtual_input_linear(torch.cat(rows)))
        for inverse in others:
            inverse.update(torch.rand(inverse.dim, generator=generator))


def benchmark_track(spec: str, frames: int, late: int, every: int) -> None:
    images = moving_target(frames + 1)
    trackers = {
        SIMPLE: TimedTracker(make_tracker(RtmdnetTracker, spec), images[0]),
        RLS: TimedTracker(make_tracker(RLSRtmdnetTracker, spec), images[0]),
    }
    params = trackers[RLS].tracker.params
    block = params.update_interval  # one regular update in each block
    print(f"{spec} network with random weights; mean processor time, load {os.getloadavg()[0]:.1f}")
    for number, start in enumerate(tqdm(range(1, frames + 1, block), desc=f"blocks of {block} frames")):
        if (number + every // 2) % every:  # the cost depends only on P's rank, so blocks in between may be skipped
            remember_more(trackers[RLS].tracker, params.update_iterations)
            continue
        track_in_turns(trackers, images[start : start + block])
    print_ratios(f"frames 1 to {frames}", trackers)
    if late > frames:
        remember_more(trackers[RLS].tracker, (late - frames) // block * params.update_iterations)
        track_in_turns(trackers, images[1 : 1 + 2 * block])
        print_ratios(f"frames {late} to {late + 2 * block}", trackers)


def benchmark_memory(spec: str) -> None:
    tracker = make_tracker(RLSRtmdnetTracker, spec)
    tracker.initialize(moving_target(1)[0], {"init_bbox": BOX, "seed": 0})
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak resident memory after the first frame, {spec} network: {peak:.0f} MiB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("track", "update", "memory"))
    parser.add_argument("--ranks", type=int, nargs="+", default=[50, 425, 800, 1550], help="update: initial ranks of P")
    parser.add_argument("--repeats", type=int, default=3, help="update: number of updates of each learner")
    parser.add_argument("--frames", type=int, default=500, help="track: number of frames")
    parser.add_argument("--every", type=int, default=5, help="track: time one update in N; the others only update P")
    parser.add_argument("--late", type=int, default=1000, help="track: also measure from this frame on; 0: do not")
    parser.add_argument("--spec", default="vggm", help="convolutions: vggm (published) or alexnet (bundled network)")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    if arguments.what == "update":
        benchmark_update(arguments.ranks, arguments.repeats)
    elif arguments.what == "memory":
        benchmark_memory(arguments.spec)
    else:
        benchmark_track(arguments.spec, arguments.frames, arguments.late, arguments.every)


if __name__ == "__main__":
    main()
