"""Long runs of one process: is anything growing, slowing down or losing its footing?

    python -m tests.faults.endurance updates --count 100000
    python -m tests.faults.endurance frames --count 100000

``updates`` feeds one P with inputs that never end. ``frames`` drives RLS-DiMP over a demo video, played forwards and
backwards again and again, with a small patch so that a frame is cheap; everything else is the real tracker.

Other work on the machine changes processor time, too (caches and cores are shared), so that the first tenth of a long
run cannot be compared with the last. At the end the process therefore takes turns with a young one, which has done a
tenth as many steps: the same steps, within the same seconds.
"""
from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch

from ltr.overlap import overlap
from pytracking.evaluation import Tracker
from pytracking.evaluation.datasets import get_dataset
from pytracking.evaluation.frame_loop import FrameLoop
from rls_ext import InverseCorrelation

CHEAP = {
    "image_sample_size": 96,
    "search_area_scale": 3.0,
    "use_iou_net": False,
    "sample_memory_size": 16,
    "train_skipping": 10,
}


TURNS, TURN = 40, 500  # steps per turn


@dataclass
class Reading:
    """How a run stands after ``steps`` steps."""

    steps: int
    resident_mib: float
    milliseconds: float  # of processor time for a step, mean over the steps since the last reading
    rank: int
    smallest: float  # eigenvalue of P; the paper's Phi has its inverse as the largest
    note: str = ""


def resident_mib() -> float:
    """Resident memory of this process; its peak where the system does not say."""
    statm = Path("/proc/self/statm")
    if statm.exists():
        return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)


def smallest_eigenvalue(inverse: InverseCorrelation) -> float:
    """Of P, by P alone (dense) or by its core and the multiple of the identity around it (factored)."""
    if inverse.dim <= 2048:
        return float(torch.linalg.eigvalsh(inverse.dense().double())[0])
    state = inverse.state_dict()["impl"]
    root = state["root"].double()
    values = torch.linalg.eigvalsh(root @ root.T)
    return min(float(values[0]), float(np.exp(-state["log_sigma"])))


def run(
    step: Callable[[int], str], inverse: Callable[[], InverseCorrelation], count: int, every: int
) -> Iterator[Reading]:
    """Takes ``count`` steps; a reading after every ``every`` of them."""
    for done in range(0, count - every + 1, every):
        seconds, note = timed(step, done, every)
        matrix = inverse()
        milliseconds = seconds / every * 1e3
        yield Reading(done + every, resident_mib(), milliseconds, matrix.rank, smallest_eigenvalue(matrix), note)


def timed(step: Callable[[int], str], done: int, count: int) -> tuple[float, str]:
    """Takes ``count`` steps after the ``done`` first ones; seconds of processor time, and the last one's note."""
    note = ""
    start = time.process_time()
    for index in range(done + 1, done + count + 1):
        note = step(index)
    return time.process_time() - start, note


def take_turns(step: Callable[[int], str], done: int, young_command: list[str]) -> dict[str, float]:
    """This process against a young one in turns of ``TURN`` steps; ratios of processor time, turn by turn."""
    ratios = []
    with subprocess.Popen(young_command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as young:
        assert young.stdin is not None and young.stdout is not None
        for turn in range(TURNS):
            print(TURN, file=young.stdin, flush=True)
            theirs = float(young.stdout.readline())  # the first answer comes after the young one's own run
            ratios.append(timed(step, done + turn * TURN, TURN)[0] / theirs)
        young.stdin.close()
    low, middle, high = np.percentile(ratios, [25, 50, 75])
    return {"old_to_young": round(middle, 3), "quartiles": [round(low, 3), round(high, 3)], "turns": TURNS}


def serve_turns(step: Callable[[int], str], done: int) -> None:
    """The young one's side: reads numbers of steps, and answers with seconds."""
    for line in sys.stdin:
        seconds, _ = timed(step, done, int(line))
        done += int(line)
        print(seconds, flush=True)


def updates(dim: int, beta: float, budget_mib: float | None, form: str) -> tuple[Callable[[int], str], Callable]:
    """RLS updates and preconditioned gradients on a drifting stream of full rank."""
    generator = torch.Generator().manual_seed(0)
    budget = None if budget_mib is None else int(budget_mib * 2**20)
    inverse = InverseCorrelation(dim, delta=0.1, beta=beta, form=form, memory_budget=budget)
    centres = torch.randn(40, dim, generator=generator)

    def step(index: int) -> str:
        centre = centres[(index // 500) % 40]
        x = (centre + 0.3 * torch.randn(dim, generator=generator)) / dim**0.5
        inverse.update(x)
        gradient = inverse.precondition(x)
        if not bool(torch.isfinite(gradient).all()):
            raise AssertionError(f"step {index}: the preconditioned gradient is not finite")
        return ""

    return step, lambda: inverse


def frames(sequence: str, overrides: dict) -> tuple[Callable[[int], str], Callable]:
    """Frames of a looped video, tracked by RLS-DiMP; starts on the annotated box once and never again."""
    video = get_dataset("demo")[sequence]
    images = [video.load_frame(index) for index in range(len(video))]
    tracker = Tracker("rls_dimp", "default", overrides={**CHEAP, **overrides}).create_tracker()
    loop = FrameLoop(tracker)
    loop.start(images[0], video.ground_truth_rect[0])
    turn = 2 * (len(images) - 1)
    overlaps: list[float] = []

    def step(index: int) -> str:
        place = index % turn
        place = min(place, turn - place)
        box = np.asarray(loop.next(images[place]).output["target_bbox"])
        if not np.isfinite(box).all() or (box[2:] <= 0).any():
            raise AssertionError(f"frame {index}: the box is {box.tolist()}")
        overlaps.append(float(np.nan_to_num(overlap(box, video.ground_truth_rect[place]))))  # 0 where it is absent
        del overlaps[:-turn]
        return f"mean overlap of the last {len(overlaps)} frames {np.mean(overlaps):.3f}"

    return step, lambda: tracker.learner.inverse


def verdict(readings: list[Reading]) -> dict[str, float | bool]:
    """Last tenth against the second tenth of a run: the first warms up and fills P. Time holds on a quiet machine."""
    tenth = max(len(readings) // 10, 1)
    early, late = readings[tenth : 2 * tenth] or readings[:1], readings[-tenth:]
    growth = np.median([r.resident_mib for r in late]) - np.median([r.resident_mib for r in early])
    slower = np.median([r.milliseconds for r in late]) / np.median([r.milliseconds for r in early])
    return {
        "growth_mib": round(float(growth), 2),
        "time_ratio": round(float(slower), 3),
        "always_positive_definite": all(r.smallest > 0 for r in readings),
        "steps": readings[-1].steps,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["updates", "frames"])
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--readings", type=int, default=100, help="how many lines to print")
    parser.add_argument("--dim", type=int, default=4096, help="updates: length of an input")
    parser.add_argument("--beta", type=float, default=1.0, help="updates: forgetting factor")
    parser.add_argument("--form", default="auto", help="updates: representation of P")
    parser.add_argument("--budget-mib", type=float, default=6.75, help="updates: memory of P; 0: no limit")
    parser.add_argument("--sequence", default="car", help="frames: a demo sequence; on this one the target is held")
    parser.add_argument("--young", action="store_true", help="take turns with the process that has started this one")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    if arguments.what == "updates":
        step, inverse = updates(arguments.dim, arguments.beta, arguments.budget_mib or None, arguments.form)
    else:
        step, inverse = frames(arguments.sequence, {})
    if arguments.young:
        timed(step, 0, arguments.count)
        return serve_turns(step, arguments.count)
    readings = []
    for reading in run(step, inverse, arguments.count, max(arguments.count // arguments.readings, 1)):
        readings.append(reading)
        print(json.dumps(asdict(reading)), flush=True)
    young = [sys.executable, "-m", "tests.faults.endurance", *sys.argv[1:], "--young", "--count"]
    turns = take_turns(step, readings[-1].steps, [*young, str(arguments.count // 10)])
    print(json.dumps(verdict(readings) | turns), flush=True)


if __name__ == "__main__":
    main()
