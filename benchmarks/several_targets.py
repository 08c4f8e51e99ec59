"""Cost of four targets in one video compared with one, on the bundled network, and whether their boxes are the same.

    python benchmarks/several_targets.py [--frames 40] [--rounds 3] [--tracker rls_dimp]

The video shows four demo sequences side by side, each with its target. Runs with a single target and with all four
alternate on the same frames in one process; the best round of each counts. Prints elapsed and processor time; the
latter does not depend on other load.
"""
from __future__ import annotations

import argparse
import time
import warnings
from typing import NamedTuple

import numpy as np

import pytracking
from pytracking.evaluation import get_dataset
from pytracking.evaluation.handle import TrackerHandle

SEQUENCES = ("beetle", "fish", "bird", "ball")
Boxes = dict[int, list[float]]


class Cost(NamedTuple):
    """Milliseconds per frame after the first."""

    passed: float
    processor: float


def make_video(frames: int) -> tuple[list[np.ndarray], Boxes]:
    """Four sequences in two rows, and the targets' boxes in the first frame."""
    dataset = get_dataset("demo")
    parts = [dataset[name] for name in SEQUENCES]
    images, boxes = [], {}
    height, width = (max(part.load_frame(0).shape[axis] for part in parts) for axis in (0, 1))
    places = [(row * height, column * width) for row in (0, 1) for column in (0, 1)]
    for index in range(frames):
        image = np.zeros((2 * height, 2 * width, 3), np.uint8)
        for part, (top, left) in zip(parts, places, strict=True):
            frame = part.load_frame(min(index, len(part) - 1))
            image[top : top + frame.shape[0], left : left + frame.shape[1]] = frame
        images.append(image)
    for target, (part, (top, left)) in enumerate(zip(parts, places, strict=True), 1):
        x, y, w, h = part.ground_truth_rect[0]
        boxes[target] = [x + left, y + top, w, h]
    return images, boxes


def track(tracker: TrackerHandle, images: list[np.ndarray], boxes: Boxes) -> tuple[Cost, dict[int, list]]:
    """The cost and the boxes of tracking these targets together."""
    targets = tracker.several()
    outputs = [targets.init(images[0], boxes)]
    passed, processor = time.perf_counter(), time.process_time()
    outputs += [targets.update(image) for image in images[1:]]
    factor = 1e3 / (len(images) - 1)
    cost = Cost((time.perf_counter() - passed) * factor, (time.process_time() - processor) * factor)
    return cost, {target: [output[target]["target_bbox"] for output in outputs] for target in boxes}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--frames", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tracker", default="rls_dimp")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    images, boxes = make_video(args.frames)
    tracker = pytracking.load(args.tracker)
    singles, groups, equal = [], [], True
    for _ in range(args.rounds):
        with tracker.frames_in_a_row():
            runs = {target: track(tracker, images, {target: box}) for target, box in boxes.items()}
            cost, found = track(tracker, images, boxes)
        singles.append([each for each, _ in runs.values()])
        groups.append(cost)
        equal = equal and all(found[target] == run[target] for target, (_, run) in runs.items())
    alone = np.min(singles, axis=0).mean(axis=0)  # over rounds, then over targets
    together = np.min(groups, axis=0)
    for place, kind in enumerate(Cost._fields):
        ratio = together[place] / alone[place]
        print(f"{kind:>9}: one target {alone[place]:.1f} ms per frame, four {together[place]:.1f}: {ratio:.2f} times")
    print(f"boxes equal to the single runs: {'yes' if equal else 'NO'}")


if __name__ == "__main__":
    main()
