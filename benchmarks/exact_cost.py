"""Cost of the exact learner compared with RLS: frames on the bundled network, updates at DiMP-50's size (p = 8192).

    python benchmarks/exact_cost.py [--frames 300] [--clock cpu] [--rounds 12]

Bundled network: both trackers process the demo's long sequence, frame by frame in turn, with their parameter files.
The first update, in which the exact learner adds the first frame's samples, is included and also shown separately.
DiMP-50: a frame without an update, then updates of both learners on the same full memory, every 20th frame as in the
paper; its normal equations are sketched. Random weights do not change the cost. Features are random too, which
compresses worst, so the printed bound is a worst case. One run, one thread.
"""
from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
import torch
from dimp_rls_cost import MIB, make_tracker, resident_bytes, time_frame

from pytracking.evaluation import Tracker, get_dataset
from pytracking.tracker.rls_dimp.params import RLSDimpParams
from pytracking.tracker.rls_dimp.rls_dimp import make_rls_learner
from pytracking.utils.device import wanted_engine

EVERY = 20  # frames between two updates of DiMP-50


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", type=int, default=300, help="frames on the bundled network")
    parser.add_argument("--rounds", type=int, default=12, help="updates at DiMP-50's size")
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall")
    parser.add_argument("--skip", choices=("mobile", "dimp50"), help="skip one of the two networks")
    args = parser.parse_args()
    torch.set_num_threads(1)
    clock = time.perf_counter if args.clock == "wall" else time.process_time
    if args.skip != "mobile":
        compare_frames(args.frames, clock)
    if args.skip != "dimp50":
        compare_updates(args.rounds, clock)


def compare_frames(count: int, clock: Callable[[], float]) -> None:
    """Times `default` and `exact` on the bundled network, frame by frame in turn."""
    sequence = next(each for each in get_dataset("demo") if each.name == "lantern_long")
    names = ("default", "exact")
    trackers = [Tracker("rls_dimp", name, network="dimp_mobile").create_tracker() for name in names]
    for tracker in trackers:
        tracker.initialize(sequence.load_frame(0), {"init_bbox": list(sequence.ground_truth_rect[0])})
    taken = np.empty((count, 2))
    for index in range(count):
        image = sequence.load_frame(1 + index % (len(sequence) - 1))
        for place, tracker in enumerate(trackers):
            start = clock()
            output = tracker.track(image)
            taken[index, place] = clock() - start
    held = output["learner"]["nbytes"] / MIB
    default, exact = 1e3 * taken.mean(axis=0)
    every = trackers[1].params.train_skipping
    once = 1e3 * (taken[every - 1, 1] - np.median(taken[2 * every - 1 :: every, 1]))
    later = (exact * count - once) / count / default
    print(f"dimp_mobile, p = {trackers[1].filters.numel()}, an update every {every} frames, {count} frames in turn:")
    print(f"  default {default:.2f} ms per frame, exact {exact:.2f} ms: {exact / default:.3f} times")
    print(f"  once {once:.0f} ms for the first frame's samples; without these {later:.3f} times; holds {held:.1f} MiB")


def compare_updates(rounds: int, clock: Callable[[], float]) -> None:
    """Times updates of RLS and the sketched exact learner on a full memory of DiMP-50's size."""
    torch.manual_seed(0)
    tracker = make_tracker(wanted_engine("auto"), 1)
    frame = time_frame(tracker, clock, 10)
    weights = torch.full((50,), 1 / 50)
    problem = tracker.network.objective(torch.randn(50, 512, 18, 18) / 90, torch.full((50, 4), 100.0), weights)
    taken, filters, peak = np.empty((rounds, 2)), tracker.filters, 0
    learners = [make_rls_learner(RLSDimpParams(learner=name)) for name in ("rls", "exact")]
    learners[0].start(filters, torch.Generator())
    before = resident_bytes()
    learners[1].start(filters, torch.Generator())
    for index in range(15, 50):
        learners[1].notice(index)
    learners[1].update(problem, filters, 5)  # adds the first frame's samples
    for round_ in range(rounds):
        problem.features.add_(torch.randn_like(problem.features), alpha=1e-3)
        for place, learner in enumerate(learners):
            learner.notice(15 + round_ % 35)
            start = clock()
            learner.update(problem, filters, 5)
            taken[round_, place] = clock() - start
        peak = max(peak, (resident_bytes() or 0) - (before or 0))
    rls, exact = taken.mean(axis=0)
    report = learners[1].report()
    ratio = (frame + exact / EVERY) / (frame + rls / EVERY)
    print(f"DiMP-50, p = {filters.numel()}, an update every {EVERY} frames, frame without one {1e3 * frame:.0f} ms:")
    print(f"  update RLS {1e3 * rls:.0f} ms, exact ({learners[1].later.form}) {1e3 * exact:.0f} ms: {ratio:.3f} times")
    print(f"  holds {report['nbytes'] / MIB:.1f} MiB; the process grew by {peak / MIB:.1f} MiB in all")
    print(f"  bound on every eigenvalue, random features: {report['error_bound']:.2g}")


if __name__ == "__main__":
    with torch.inference_mode():
        main()
