"""Long runs of one process: is anything growing, slowing down or losing its footing?

    python -m tests.faults.endurance updates --count 100000
    python -m tests.faults.endurance frames --count 100000

``updates`` feeds one P with inputs that never end. ``frames`` drives RLS-DiMP over a demo video, played forwards and
backwards again and again, with a small patch so that a frame is cheap; everything else is the real tracker. Time is the
processor's, which other work on the machine does not change much.
"""
from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch

import pytracking
from pytracking.evaluation.datasets import get_dataset
from rls_ext import InverseCorrelation

CHEAP = {
    "image_sample_size": 96,
    "search_area_scale": 3.0,
    "use_iou_net": False,
    "sample_memory_size": 16,
    "train_skipping": 10,
}


@dataclass
class Reading:
    """How a run stands after ``steps`` steps."""

    steps: int
    resident_mib: float
    milliseconds: float  # of processor time for a step, median over the steps since the last reading
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
    times: list[float] = []
    note = ""
    for index in range(1, count + 1):
        start = time.process_time()
        note = step(index)
        times.append(time.process_time() - start)
        if index % every == 0:
            matrix = inverse()
            middle = float(np.median(times) * 1e3)
            yield Reading(index, resident_mib(), middle, matrix.rank, smallest_eigenvalue(matrix), note)
            times.clear()


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
    tracker = pytracking.load("rls_dimp", "default", **{**CHEAP, **overrides})
    tracker.init(images[0], video.ground_truth_rect[0])
    turn = 2 * (len(images) - 1)
    overlaps: list[float] = []

    def step(index: int) -> str:
        place = index % turn
        place = min(place, turn - place)
        output = tracker.update(images[place])
        box = np.asarray(output["target_bbox"])
        if not np.isfinite(box).all() or (box[2:] <= 0).any():
            raise AssertionError(f"frame {index}: the box is {box.tolist()}")
        overlaps.append(_overlap(box, video.ground_truth_rect[place]))
        del overlaps[:-turn]
        return f"mean overlap of the last {len(overlaps)} frames {np.mean(overlaps):.3f}"

    return step, lambda: tracker._loop._tracker.learner.inverse


def _overlap(a: np.ndarray, b: np.ndarray) -> float:
    if not np.isfinite(b).all():
        return 0.0
    sides = np.minimum(a[:2] + a[2:], b[:2] + b[2:]) - np.maximum(a[:2], b[:2])
    common = float(np.prod(np.clip(sides, 0, None)))
    return common / float(a[2] * a[3] + b[2] * b[3] - common)


def verdict(readings: list[Reading]) -> dict[str, float | bool]:
    """Last tenth against the second tenth of a run: the first warms up and fills P."""
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
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    if arguments.what == "updates":
        step, inverse = updates(arguments.dim, arguments.beta, arguments.budget_mib or None, arguments.form)
    else:
        step, inverse = frames(arguments.sequence, {})
    readings = []
    for reading in run(step, inverse, arguments.count, max(arguments.count // arguments.readings, 1)):
        readings.append(reading)
        print(json.dumps(asdict(reading)), flush=True)
    print(json.dumps(verdict(readings)), flush=True)


if __name__ == "__main__":
    main()
