"""Extra time and memory of RLS over BGD at full size (p = 8192), with the same network and samples in one run.

    python benchmarks/dimp_rls_cost.py [--threads 1] [--clock cpu] [--engine torch]

RLS-DiMP and BGD-DiMP differ only in the learner's update. So this times a tracked frame without an update and then,
alternately, the updates of both learners on the same full memory of 50 samples. The samples change slightly from round
to round, so that every update adds a new direction to P. P is full from the start: it has the highest rank that its
memory allows, and gives up directions every few updates. The cost of RLS is the mean difference between the two over
all rounds, for three schedules: the paper's regular one (five recursions every 20th frame), a distractor in every 5th
frame, and the worst case, a distractor in every frame (one recursion each). On a busy machine, use one thread and
``--clock cpu``. Random network weights do not change the cost.
"""
from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from ltr.engine import ENGINES, attach_engine
from ltr.models.inference import prepare_for_inference
from ltr.models.tracking.dimpnet import dimpnet50
from pytracking.tracker.dimp.dimp import DimpTracker
from pytracking.tracker.dimp.learner import GradientDescentLearner, OnlineLearner
from pytracking.tracker.dimp.params import AugmentationParams, DimpParams
from pytracking.tracker.rls_dimp.learner import RLSLearner, VirtualInput
from pytracking.tracker.rls_dimp.params import RLSDimpParams
from rls_ext import InverseCorrelation

MIB = 2**20
SCHEDULES = (  # name, recursions of an update, updates per frame
    ("regular: every 20th frame", 5, 1 / 20),
    ("a distractor in every 5th frame", 1, 1 / 5),
    ("worst: a distractor in every frame", 1, 1.0),
)
EARLIER_UPDATES = 1000  # updates of P before the measurement


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall")
    parser.add_argument("--engine", choices=ENGINES, default="auto")
    parser.add_argument("--repetitions", type=int, default=34, help="rounds; P gives directions up every 17th")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    clock = time.perf_counter if args.clock == "wall" else time.process_time
    torch.manual_seed(0)
    tracker = make_tracker(args.engine, args.threads)
    frame = time_frame(tracker, clock, args.repetitions)
    problem = tracker.network.objective(torch.randn(50, 512, 18, 18) / 90, torch.full((50, 4), 100.0), None)
    bgd = GradientDescentLearner(3e-2)
    budget = int(RLSDimpParams().p_memory_mib * MIB)
    rls = RLSLearner(3e-2, delta=0.1, beta=1.0, block_input=VirtualInput(), memory_budget=budget)
    for learner in (bgd, rls):
        learner.start(tracker.filters, torch.Generator())
    print(f"p = {tracker.filters.numel()}, {args.threads} threads, {args.clock} clock, {args.repetitions} rounds")
    print(f"frame without update: {1e3 * frame:.1f} ms")
    fill(rls.inverse)
    for name, num_iter, share in SCHEDULES:
        plain, more = time_updates((bgd, rls), problem, tracker.filters, num_iter, clock, args.repetitions)
        slower = more * share / (frame + plain * share)
        print(
            f"{name:<34} update BGD {1e3 * plain:6.2f} ms, RLS {1e3 * more:5.2f} ms more; "
            f"RLS-DiMP slower by {100 * slower:.2f} %"
        )


def fill(inverse: InverseCorrelation) -> None:
    """Updates P with random inputs, which compress worst, and prints the memory they take."""
    before = resident_bytes()
    for update in range(EARLIER_UPDATES):
        inverse.update(torch.randn(inverse.dim) / 30)
        if update + 1 in (20, 100, 150, 300, EARLIER_UPDATES):
            inverse.precondition(torch.ones(inverse.dim))
            resident = "" if before is None else f", the process {(resident_bytes() - before) / MIB:.2f} MiB more"
            size = f"{inverse.nbytes / MIB:.2f} MiB reserved"
            print(f"P after {update + 1:4d} updates: rank {inverse.rank}, {size}{resident}")


def resident_bytes() -> int | None:
    """Resident memory of the process; None if the system does not provide it."""
    status = Path("/proc/self/statm")
    return int(status.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") if status.exists() else None


def make_tracker(engine: str, threads: int) -> DimpTracker:
    network = dimpnet50(filter_size=4, clf_feat_blocks=0).eval()
    network.bb_regressor.iou_predictor.weight.mul_(1e-2)  # boxes move by a few pixels, as with a trained network
    network = prepare_for_inference(network)
    attach_engine(network, engine, torch.device("cpu"), threads)
    few = AugmentationParams(relative_shifts=(), flip_horizontal=False, blurs=(), rotations=())  # a short start
    params = DimpParams(device="cpu", augmentation=few, update_classifier=False, target_not_found_threshold=-1e9)
    return DimpTracker(params, network)


def time_frame(tracker: DimpTracker, clock: Callable[[], float], repetitions: int) -> float:
    image = np.random.default_rng(0).integers(0, 255, (360, 480, 3), dtype=np.uint8)
    tracker.initialize(image, {"init_bbox": [200, 140, 60, 60]})
    seconds = []
    for _ in range(repetitions):
        start = clock()
        tracker.track(image)
        seconds.append(clock() - start)
    return min(seconds)


def time_updates(
    learners: tuple[OnlineLearner, ...],
    problem,
    filters: torch.Tensor,
    num_iter: int,
    clock: Callable[[], float],
    repetitions: int,
) -> tuple[float, float]:
    """Best time of the first learner's update, and mean extra time of the second's."""
    taken = np.empty((repetitions, len(learners)))
    for round_ in range(repetitions):
        problem.features.add_(torch.randn_like(problem.features), alpha=1e-3)
        for place, learner in enumerate(learners):
            start = clock()
            learner.update(problem, filters, num_iter)
            taken[round_, place] = clock() - start
    return float(taken[:, 0].min()), float((taken[:, 1] - taken[:, 0]).mean())


if __name__ == "__main__":
    with torch.inference_mode():
        main()
